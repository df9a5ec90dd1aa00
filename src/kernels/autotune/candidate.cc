#include "kernels/autotune/candidate.h"

#include <algorithm>
#include <bit>

namespace hearth::gpu {

std::int64_t size_class(std::int64_t extent, std::int64_t most) {
  if (extent >= most) return most;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1))));
}

ChoicePlan::ChoicePlan(ChoiceClass problem, std::vector<Alternative> alternatives)
    : problem_(std::move(problem)), alternatives_(std::move(alternatives)) {}

std::vector<std::string> ChoicePlan::names() const {
  std::vector<std::string> names;
  for (const Alternative& each : alternatives_) names.push_back(each.name);
  return names;
}

void ChoicePlan::settle(std::size_t alternative) const noexcept {
  int none = -1;
  chosen_.compare_exchange_strong(none, static_cast<int>(alternative), std::memory_order_acq_rel);
}

const Alternative& ChoicePlan::chosen() const noexcept {
  const int chosen = chosen_.load(std::memory_order_acquire);
  return alternatives_[static_cast<std::size_t>(std::max(chosen, 0))];
}

Prepared prepared_choice(ChoiceClass problem, std::vector<Alternative> alternatives) {
  std::int64_t workspace = 0;
  for (const Alternative& each : alternatives) {
    workspace = std::max(workspace, each.prepared.workspace_bytes);
  }
  return prepared(std::make_shared<ChoicePlan>(std::move(problem), std::move(alternatives)),
                  workspace);
}

const ChoicePlan* choice_of(const Launch& launch) noexcept {
  return dynamic_cast<const ChoicePlan*>(&plan_of(launch));
}

void launch_choice(const Launch& launch) {
  const ChoicePlan* const choice = choice_of(launch);
  if (choice == nullptr) return launch_steps(launch);
  launch_alternative(choice->chosen(), launch);
}

void launch_alternative(const Alternative& alternative, Launch launch) {
  launch.state = alternative.prepared.state.get();
  alternative.launch(launch);
}

const KernelPlan& running_plan(const Launch& launch) {
  const ChoicePlan* const choice = choice_of(launch);
  if (choice == nullptr) return plan_of(launch);
  return *static_cast<const KernelPlan*>(choice->chosen().prepared.state.get());
}

}  // namespace hearth::gpu
