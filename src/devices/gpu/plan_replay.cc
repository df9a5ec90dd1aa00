#include "devices/gpu/plan_replay.h"

#include <algorithm>

#include "runtime/commands/batching.h"
#include "runtime/commands/driver_calls.h"

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
  if (runtime::wants_commands()) return false;
  for (Instance& instance : entry_of(plan).instances) {
    if (!std::equal(instance.addresses.begin(), instance.addresses.end(), addresses.begin(),
                    addresses.end())) {
      continue;
    }
    instance.last_use = ++clock_;
    if (instance.executable != nullptr) {
      runtime::launch(driver_, *instance.executable, instance.commands);
    } else {
      runtime::submit(driver_, instance.batch.commands());
    }
    ++statistics_.replayed;
    return true;
  }
  return false;
}

bool PlanReplay::has_run(const std::shared_ptr<const void>& plan) {
  return entry_of(plan).runs > 0;
}

void PlanReplay::run(const std::shared_ptr<const void>& plan, std::span<const Address> addresses,
                     runtime::CommandBatch& batch) {
  const std::span<const runtime::Command> commands = batch.commands();
  Entry& entry = entry_of(plan);
  std::vector<Instance>& instances = entry.instances;
  Instance* oldest = nullptr;
  if (instances.size() == kInstances) {
    oldest =
        &*std::min_element(instances.begin(), instances.end(),
                           [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
  }
  const auto keep = [&](std::unique_ptr<runtime::Executable> executable, std::size_t count) {
    Instance& kept = oldest != nullptr ? *oldest : instances.emplace_back();
    kept.addresses.assign(addresses.begin(), addresses.end());
    kept.executable = std::move(executable);
    if (kept.executable == nullptr) std::swap(kept.batch, batch);
    kept.commands = count;
    kept.last_use = ++clock_;
  };

  if (++entry.runs < 2 || runtime::wants_commands()) {
    ++statistics_.encoded;
    runtime::submit(driver_, commands);
    return batch.clear();
  }
  // Nothing is merged in vain for a plan that no executable can hold.
  const auto launch_executable = [&] {
    if (!runtime::are_recordable(commands)) return false;
    const runtime::MergedCommands merged(commands, driver_.argument_bytes(), registry_);
    const std::size_t count = merged.commands().size();
    std::unique_ptr<runtime::Executable> executable;
    if (oldest != nullptr && oldest->executable != nullptr &&
        driver_.update(*oldest->executable, merged.commands())) {
      ++statistics_.updated;
      executable = std::move(oldest->executable);
    } else {
      executable = driver_.instantiate(merged.commands());
      if (executable == nullptr) return false;
      ++statistics_.instantiated;
      statistics_.merged += static_cast<std::int64_t>(commands.size() - count);
    }
    runtime::launch(driver_, *executable, count);
    keep(std::move(executable), count);
    return true;
  };
  if (!launch_executable()) {
    ++statistics_.encoded;
    runtime::submit(driver_, commands);
    keep(nullptr, commands.size());
  }
  batch.clear();
}

}  // namespace hearth::gpu
