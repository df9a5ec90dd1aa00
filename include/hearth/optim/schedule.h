// Learning-rate schedules: functions of the step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// The learning rate of each step, counted from 0; throws Error{invalid_argument} for one below.
// Burn's schedulers count from 1 where said, so their first rate is that of step 1 here. Functions
// here throw Error{invalid_argument} for negative counts and rates and for no finite numbers.
using Schedule = std::function<double(std::int64_t step)>;
HEARTH_API Schedule constant(double rate);
// From `rate` at step 0 along a line to `last` at step `steps` and after; Burn counts from 1.
HEARTH_API Schedule linear(double rate, double last, std::int64_t steps);
// Half a cosine from `rate` at step 0 to `minimum` at step `steps` and after, where Burn's goes on
// along the cosine.
HEARTH_API Schedule cosine(double rate, std::int64_t steps, double minimum = 0);
// rate * gamma^step, gamma in (0, 1]; Burn counts from 1.
HEARTH_API Schedule exponential(double rate, double gamma);
// rate * gamma^floor(step / every).
HEARTH_API Schedule stairs(double rate, std::int64_t every, double gamma = 0.1);
// factor / sqrt(dim) * min(1 / sqrt(n), n / warm_up^1.5) with n = step + 1 (Vaswani et al. 2017).
HEARTH_API Schedule noam(double factor, std::int64_t warm_up = 4000, std::int64_t dim = 512);
// Rises linearly over `steps` steps to the rate where `then` begins: its step 0 is step `steps`.
// Throws Error{invalid_argument} for a negative `steps` and for an empty `then`.
HEARTH_API Schedule linear_warm_up(std::int64_t steps, Schedule then);
// All at once: the mean, the sum or the product of their rates.
enum class Combine : std::uint8_t { mean, sum, product };
HEARTH_API Schedule combined(std::vector<Schedule> schedules, Combine how = Combine::product);
// One after another: schedule i ends before step milestones[i], where the next begins with its step
// 0. Milestones rise, one fewer than the schedules.
HEARTH_API Schedule sequence(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones);

}  // namespace optim
}  // namespace v0
}  // namespace hearth
