#include <cmath>

#include "hearth/nn.h"

namespace hearth {
inline namespace v0 {
namespace nn {

Initializer Initializer::constant(double value) { return {Rule::constant, value, 0}; }
Initializer Initializer::uniform(double low, double high) { return {Rule::uniform, low, high}; }
Initializer Initializer::normal(double mean, double deviation) {
  return {Rule::normal, mean, deviation};
}
Initializer Initializer::kaiming_uniform(double gain) { return {Rule::kaiming_uniform, gain, 0}; }
Initializer Initializer::kaiming_normal(double gain) { return {Rule::kaiming_normal, gain, 0}; }
Initializer Initializer::xavier_uniform(double gain) { return {Rule::xavier_uniform, gain, 0}; }
Initializer Initializer::xavier_normal(double gain) { return {Rule::xavier_normal, gain, 0}; }

Array Initializer::make(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
                        const ParameterOptions& options) const {
  // A unit without inputs has nothing to scale; any finite bound will do.
  const double inputs = static_cast<double>(fan_in > 0 ? fan_in : 1);
  const double ends = inputs + static_cast<double>(fan_out > 0 ? fan_out : 1);
  const auto uniform_in = [&](double low, double high) {
    return random_uniform(shape, low, high, options.dtype, options.device, options.generator);
  };
  const auto normal_of = [&](double mean, double deviation) {
    return random_normal(shape, mean, deviation, options.dtype, options.device, options.generator);
  };
  Array value;
  switch (rule_) {
    case Rule::constant:
      // A dense array of its own, since a parameter is updated in place.
      value = contiguous(full(shape, a_, options.dtype, options.device));
      break;
    case Rule::uniform:
      value = uniform_in(a_, b_);
      break;
    case Rule::normal:
      value = normal_of(a_, b_);
      break;
    case Rule::kaiming_uniform: {
      const double bound = a_ * std::sqrt(3 / inputs);
      value = uniform_in(-bound, bound);
      break;
    }
    case Rule::kaiming_normal:
      value = normal_of(0, a_ / std::sqrt(inputs));
      break;
    case Rule::xavier_uniform: {
      const double bound = a_ * std::sqrt(6 / ends);
      value = uniform_in(-bound, bound);
      break;
    }
    case Rule::xavier_normal:
      value = normal_of(0, a_ * std::sqrt(2 / ends));
      break;
  }
  return value.require_grad();
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
