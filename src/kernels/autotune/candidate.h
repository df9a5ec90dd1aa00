// An op that several kernels, or a library, can do: which one is told by the device, once, before
// the first launch. See docs/adr/0007-choices.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/launch/kernel_plan.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {

// One way to do it, right by itself.
struct Alternative {
  std::string name;  // "portable"; of several in a family, "simdgroup/64x64"
  Prepared prepared;
  LaunchFunction launch = launch_steps;
};

// Problems that are decided alike. Of one class all offer the same alternatives.
struct ChoiceClass {
  std::string op;       // "matmul"
  std::string problem;  // dtypes, layouts, epilogue, extents in steps: "f32 nt m1024 n1024 k512"
  double work = 0;      // multiplications and additions of this one, of which two count as one
};

// The smallest power of two that is not below the extent, so that a class has a bounded number of
// sizes; one above `most` counts as `most`, beyond which nothing changes.
std::int64_t size_class(std::int64_t extent, std::int64_t most = 8192);

// Serves one device.
class ChoicePlan final : public KernelPlan {
 public:
  // At least one alternative, of different names.
  ChoicePlan(ChoiceClass problem, std::vector<Alternative> alternatives);

  const ChoiceClass& problem() const noexcept { return problem_; }
  const std::vector<Alternative>& alternatives() const noexcept { return alternatives_; }
  std::vector<std::string> names() const;

  // Says which alternative is launched from now on. Later calls change nothing: what a plan
  // computes does not differ from run to run.
  void settle(std::size_t alternative) const noexcept;
  bool is_settled() const noexcept { return chosen_.load(std::memory_order_acquire) >= 0; }
  // The first where it is not settled.
  const Alternative& chosen() const noexcept;

 private:
  const ChoiceClass problem_;
  const std::vector<Alternative> alternatives_;
  mutable std::atomic<int> chosen_{-1};
};

// Null where what a launch is to run is no choice.
const ChoicePlan* choice_of(const Launch& launch) noexcept;

// The end of a prepare() that has found alternatives; one alone is no choice. launch_choice() goes
// with it, for plans that are none too: those are launched by launch_steps().
Prepared prepared_choice(ChoiceClass problem, std::vector<Alternative> alternatives);
void launch_choice(const Launch& launch);
void launch_alternative(const Alternative& alternative, Launch launch);

// What a launch runs: the plan of the alternative where it is a choice.
const KernelPlan& running_plan(const Launch& launch);

}  // namespace hearth::gpu
