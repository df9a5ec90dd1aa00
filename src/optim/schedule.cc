#include "hearth/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/require_listed.h"
#include "optim/require.h"

namespace hearth {
inline namespace v0 {
namespace optim {
namespace {

void require_count(const char* schedule, const char* what, std::int64_t count,
                   std::int64_t least = 0) {
  if (count >= least) return;
  throw Error(
      ErrorCode::invalid_argument,
      std::string(schedule) + ": " +
          (least == 0 ? std::string("negative ") + what : std::string(what) + " too small") +
          "; got " + std::to_string(count) + ", expected " + std::to_string(least) + " or more");
}

void require_schedules(const char* schedule, const std::vector<Schedule>& schedules) {
  if (!schedules.empty() && std::all_of(schedules.begin(), schedules.end(),
                                        [](const Schedule& each) { return !!each; })) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              std::string(schedule) + ": " +
                  (schedules.empty() ? "no schedules; got none"
                                     : "no schedule in the list; got an empty function") +
                  ", expected one Schedule or more");
}

}  // namespace

Schedule constant(double rate) {
  require_non_negative("constant", "rate", rate);
  return [rate](std::int64_t step) {
    require_count("constant", "step", step);
    return rate;
  };
}

Schedule linear(double rate, double last, std::int64_t steps) {
  require_non_negative("linear", "rate", rate);
  require_non_negative("linear", "last", last);
  require_count("linear", "steps", steps);
  return [=](std::int64_t step) {
    require_count("linear", "step", step);
    if (step >= steps) return last;
    return rate + (last - rate) * (static_cast<double>(step) / static_cast<double>(steps));
  };
}

Schedule cosine(double rate, std::int64_t steps, double minimum) {
  constexpr double kPi = 3.14159265358979323846;
  require_non_negative("cosine", "rate", rate);
  require_non_negative("cosine", "minimum", minimum);
  require_count("cosine", "steps", steps);
  return [=](std::int64_t step) {
    require_count("cosine", "step", step);
    if (step >= steps) return minimum;
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    return minimum + (rate - minimum) * 0.5 * (1 + std::cos(kPi * part));
  };
}

Schedule exponential(double rate, double gamma) {
  require_non_negative("exponential", "rate", rate);
  require_in_range(gamma > 0 && gamma <= 1, "exponential", "gamma", gamma, "(0, 1]");
  return [=](std::int64_t step) {
    require_count("exponential", "step", step);
    return rate * std::pow(gamma, static_cast<double>(step));
  };
}

Schedule stairs(double rate, std::int64_t every, double gamma) {
  require_non_negative("stairs", "rate", rate);
  require_count("stairs", "every", every, 1);
  require_in_range(gamma > 0 && gamma <= 1, "stairs", "gamma", gamma, "(0, 1]");
  return [=](std::int64_t step) {
    require_count("stairs", "step", step);
    return rate * std::pow(gamma, static_cast<double>(step / every));
  };
}

Schedule noam(double factor, std::int64_t warm_up, std::int64_t dim) {
  require_non_negative("noam", "factor", factor);
  require_count("noam", "warm_up", warm_up, 1);
  require_count("noam", "dim", dim, 1);
  return [=](std::int64_t step) {
    require_count("noam", "step", step);
    const double n = static_cast<double>(step) + 1;
    return factor / std::sqrt(static_cast<double>(dim)) *
           std::min(1 / std::sqrt(n), n * std::pow(static_cast<double>(warm_up), -1.5));
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

Schedule combined(std::vector<Schedule> schedules, Combine how) {
  require_schedules("combined", schedules);
  require_listed("combined", "way", how, Combine::product);
  return [schedules = std::move(schedules), how](std::int64_t step) {
    require_count("combined", "step", step);
    double rate = how == Combine::product ? 1 : 0;
    for (const Schedule& each : schedules) {
      how == Combine::product ? rate *= each(step) : rate += each(step);
    }
    return how == Combine::mean ? rate / static_cast<double>(schedules.size()) : rate;
  };
}

Schedule sequence(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones) {
  require_schedules("sequence", schedules);
  if (milestones.size() + 1 != schedules.size()) {
    throw Error(ErrorCode::invalid_argument, "sequence: milestones do not fit; got " +
                                                 std::to_string(milestones.size()) + " for " +
                                                 std::to_string(schedules.size()) +
                                                 " schedules, expected one fewer than schedules");
  }
  std::int64_t before = 0;
  for (const std::int64_t milestone : milestones) {
    require_count("sequence", "milestone", milestone, before + 1);
    before = milestone;
  }
  return [schedules = std::move(schedules), milestones = std::move(milestones)](std::int64_t step) {
    require_count("sequence", "step", step);
    const auto next = std::upper_bound(milestones.begin(), milestones.end(), step);
    const auto index = static_cast<std::size_t>(next - milestones.begin());
    return schedules[index](index == 0 ? step : step - milestones[index - 1]);
  };
}

}  // namespace optim
}  // namespace v0
}  // namespace hearth
