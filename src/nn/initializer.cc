#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hearth/nn/init.h"
#include "hearth/ops.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

// Makes the `count` columns, each of `length` >= `count` elements, orthonormal: Householder
// reflections to a triangle (Golub and Van Loan 2013, 5.2), the product of the reflections, and
// signs by which the triangle's diagonal is positive, so that all such matrices are as likely.
void make_orthonormal(std::vector<double>& columns, std::int64_t count, std::int64_t length) {
  const auto column = [&](std::int64_t i) { return columns.data() + i * length; };
  const auto dot_from = [&](std::int64_t first, const double* a, const double* b) {
    double total = 0;
    for (std::int64_t i = first; i < length; ++i) total += a[i] * b[i];
    return total;
  };
  // Reflection i lies in column i from element i on, with 2 / its squared length in `scales`.
  std::vector<double> scales(static_cast<std::size_t>(count)), signs(scales.size(), 1.0);
  const auto reflect = [&](std::int64_t i, double* target) {
    const double* normal = column(i);
    const double amount = scales[static_cast<std::size_t>(i)] * dot_from(i, normal, target);
    for (std::int64_t k = i; k < length; ++k) target[k] -= amount * normal[k];
  };
  for (std::int64_t i = 0; i < count; ++i) {
    double* const normal = column(i);
    const double size = std::sqrt(dot_from(i, normal, normal));
    const double diagonal = normal[i] < 0 ? size : -size;
    signs[static_cast<std::size_t>(i)] = diagonal < 0 ? -1 : 1;
    normal[i] -= diagonal;
    const double square = dot_from(i, normal, normal);
    scales[static_cast<std::size_t>(i)] = square > 0 ? 2 / square : 0;
    for (std::int64_t next = i + 1; next < count; ++next) reflect(i, column(next));
  }
  std::vector<double> out(columns.size());
  for (std::int64_t i = 0; i < count; ++i) {
    double* const unit = out.data() + i * length;
    unit[i] = signs[static_cast<std::size_t>(i)];
    for (std::int64_t k = i; k >= 0; --k) reflect(k, unit);
  }
  columns = std::move(out);
}

// Rows, or columns where those are fewer, at right angles.
Array orthogonal_matrix(const Shape& shape, double gain, const ParameterOptions& options) {
  const std::int64_t size = element_count(shape);
  if (shape.rank() < 2 || size == 0) return contiguous(zeros(shape, options.dtype, options.device));
  const std::int64_t rows = shape[0], cols = size / rows;
  const std::int64_t count = std::min(rows, cols), length = std::max(rows, cols);
  constexpr std::int64_t kMaxProducts = std::int64_t{1} << 31;
  if (size > kMaxProducts / count) {
    throw Error(ErrorCode::invalid_argument, "orthogonal: shape out of range; got " +
                                                 to_string(shape) +
                                                 ", expected at most 2^31 products of elements");
  }
  std::vector<double> values =
      random_normal({count, length}, 0, 1, DType::f64, Device::cpu(), options.generator)
          .to_vector<double>();
  make_orthonormal(values, count, length);
  const Array across = Array::from_data(values, {count, length}, Device::cpu());
  const Array value = reshape(rows <= cols ? across : transpose(across), shape) * gain;
  return to_device(contiguous(cast(value, options.dtype)), options.device);
}

}  // namespace

Initializer Initializer::constant(double value) { return {Rule::constant, value, 0}; }
Initializer Initializer::uniform(double low, double high) { return {Rule::uniform, low, high}; }
Initializer Initializer::normal(double mean, double deviation) {
  return {Rule::normal, mean, deviation};
}
Initializer Initializer::kaiming_uniform(double gain) { return {Rule::kaiming_uniform, gain, 0}; }
Initializer Initializer::kaiming_normal(double gain) { return {Rule::kaiming_normal, gain, 0}; }
Initializer Initializer::xavier_uniform(double gain) { return {Rule::xavier_uniform, gain, 0}; }
Initializer Initializer::xavier_normal(double gain) { return {Rule::xavier_normal, gain, 0}; }
Initializer Initializer::orthogonal(double gain) { return {Rule::orthogonal, gain, 0}; }

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
    case Rule::orthogonal:
      value = orthogonal_matrix(shape, a_, options);
      break;
  }
  return value.require_grad();
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
