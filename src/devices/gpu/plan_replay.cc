#include "devices/gpu/plan_replay.h"

#include <algorithm>

namespace hearth::gpu {

PlanReplay::Entry& PlanReplay::entry_of(const std::shared_ptr<const void>& plan) {
  if (plans_.size() >= kPlans && !plans_.contains(plan.get())) forget_dead_plans();
  Entry& entry = plans_[plan.get()];
  if (entry.plan.lock() != plan) entry = Entry{plan, 0, {}};  // another plan was at this address
  return entry;
}

void PlanReplay::forget_dead_plans() {
  std::erase_if(plans_, [](const auto& item) { return item.second.plan.expired(); });
}

bool PlanReplay::launch(const std::shared_ptr<const void>& plan,
                        std::span<const Address> addresses) {
  for (Instance& instance : entry_of(plan).instances) {
    if (!std::equal(instance.addresses.begin(), instance.addresses.end(), addresses.begin(),
                    addresses.end())) {
      continue;
    }
    instance.last_use = ++clock_;
    driver_.launch(*instance.executable);
    ++statistics_.replayed;
    return true;
  }
  return false;
}

void PlanReplay::run(const std::shared_ptr<const void>& plan, std::span<const Address> addresses,
                     std::span<const runtime::Command> commands) {
  Entry& entry = entry_of(plan);
  ++entry.runs;
  if (entry.runs < 2 || commands.size() < kFewestCommands) {
    ++statistics_.encoded;
    return driver_.submit(commands);
  }
  std::vector<Instance>& instances = entry.instances;
  if (instances.size() < kInstances) {
    if (auto executable = driver_.instantiate(commands)) {
      ++statistics_.instantiated;
      driver_.launch(*executable);
      instances.push_back({{addresses.begin(), addresses.end()}, std::move(executable), ++clock_});
      return;
    }
  } else {
    const auto oldest =
        std::min_element(instances.begin(), instances.end(),
                         [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
    if (driver_.update(*oldest->executable, commands)) {
      ++statistics_.updated;
      oldest->addresses.assign(addresses.begin(), addresses.end());
      oldest->last_use = ++clock_;
      return driver_.launch(*oldest->executable);
    }
    instances.erase(oldest);
  }
  ++statistics_.encoded;
  driver_.submit(commands);
}

}  // namespace hearth::gpu
