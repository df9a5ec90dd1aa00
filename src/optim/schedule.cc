#include <cmath>
#include <utility>

#include "hearth/optim.h"

namespace hearth {
inline namespace v0 {
namespace optim {

Schedule constant(double rate) {
  return [rate](std::int64_t) { return rate; };
}

Schedule cosine(double rate, std::int64_t steps, double minimum) {
  constexpr double kPi = 3.14159265358979323846;
  return [=](std::int64_t step) {
    if (step >= steps) return minimum;
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    return minimum + (rate - minimum) * 0.5 * (1 + std::cos(kPi * part));
  };
}

Schedule linear_warm_up(std::int64_t steps, Schedule then) {
  return [steps, then = std::move(then)](std::int64_t step) {
    if (step >= steps) return then(step - steps);
    return then(0) * (static_cast<double>(step) + 1) / (static_cast<double>(steps) + 1);
  };
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
