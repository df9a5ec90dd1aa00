#include <cmath>
#include <string>
#include <utility>

#include "hearth/optim.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

void require_count(const char* schedule, const char* what, std::int64_t count) {
  if (count >= 0) return;
  throw Error(ErrorCode::invalid_argument, std::string(schedule) + ": negative " + what + "; got " +
                                               std::to_string(count) + ", expected 0 or more");
}

}  // namespace

Schedule constant(double rate) {
  return [rate](std::int64_t step) {
    require_count("constant", "step", step);
    return rate;
  };
}

Schedule cosine(double rate, std::int64_t steps, double minimum) {
  constexpr double kPi = 3.14159265358979323846;
  return [=](std::int64_t step) {
    require_count("cosine", "step", step);
    if (step >= steps) return minimum;
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    return minimum + (rate - minimum) * 0.5 * (1 + std::cos(kPi * part));
  };
}

Schedule linear_warm_up(std::int64_t steps, Schedule then) {
  require_count("linear_warm_up", "steps", steps);
  if (!then) {
    throw Error(ErrorCode::invalid_argument,
                "linear_warm_up: no schedule after it; got an empty function, expected a Schedule");
  }
  return [steps, then = std::move(then)](std::int64_t step) {
    require_count("linear_warm_up", "step", step);
    if (step >= steps) return then(step - steps);
    return then(0) * (static_cast<double>(step) + 1) / (static_cast<double>(steps) + 1);
  };
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
