#include "hearth/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "core/require_listed.h"
#include "optim/moving.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

// About the orthogonal matrix nearest to `of`, by Newton and Schulz.
Array orthogonal(const Array& of, const Muon::Options& options) {
  const bool is_tall = of.shape(0) > of.shape(1);
  Array x = is_tall ? transpose(of) : of;
  x = x / clamp_min(sqrt(sum(square(x))), options.epsilon);
  const auto [a, b, c] = options.coefficients;
  for (std::int64_t i = 0; i < options.iterations; ++i) {
    const Array squared = matmul(x, transpose(x));
    x = x * a + matmul(squared * b + matmul(squared, squared) * c, x);
  }
  return is_tall ? transpose(x) : x;
}

double rate_of(const Shape& shape, Muon::Rate rate) {
  const auto rows = static_cast<double>(shape[0]);
  const auto columns = static_cast<double>(std::max<std::int64_t>(shape[1], 1));
  return rate == Muon::Rate::original ? std::sqrt(std::max(1.0, rows / columns))
                                      : 0.2 * std::sqrt(std::max(rows, columns));
}

}  // namespace

Muon::Muon(const Options& options) : Optimizer(SlotNames{{"momentum"}}), options_(options) {
  using namespace optim_detail;
  require_non_negative("muon", "momentum", options.momentum);
  require_non_negative("muon", "weight_decay", options.weight_decay);
  require_non_negative("muon", "epsilon", options.epsilon);
  require_listed("muon", "rate", options.rate, Rate::match_rms_adamw);
  for (const double each : options.coefficients) {
    require_in_range(std::isfinite(each), "muon", "coefficient", each, "a finite number");
  }
  // A handful will do; each is three products.
  require_in_range(options.iterations >= 0 && options.iterations <= 100, "muon", "iterations",
                   static_cast<double>(options.iterations), "0 to 100");
}

Array Muon::update(const Update& at) const {
  if (at.value.rank() != 2) {
    throw Error(ErrorCode::shape, "muon: a parameter that is no matrix; got " +
                                      to_string(at.value.shape()) + ", expected [rows, columns]");
  }
  Array& momentum = at.slots[0];
  momentum = momentum.defined() ? momentum * options_.momentum + at.gradient : at.gradient;
  const Array u = options_.nesterov ? at.gradient + momentum * options_.momentum : momentum;
  const double decay = at.learning_rate * at.weight_decay.value_or(options_.weight_decay);
  const double rate = at.learning_rate * rate_of(at.value.shape(), options_.rate);
  return optim_detail::shrunk(at.value, decay) - orthogonal(u, options_) * rate;
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
