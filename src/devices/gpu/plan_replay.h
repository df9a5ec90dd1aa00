// Plans in the executable form of a driver: a CUDA graph, for instance.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/commands/command_batch.h"
#include "runtime/commands/driver.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::gpu {

struct ReplayStatistics {
  std::int64_t replayed = 0;      // plans that ran as they were kept, nothing encoded
  std::int64_t updated = 0;       // executables whose addresses were changed first
  std::int64_t instantiated = 0;  // executables made
  std::int64_t encoded = 0;       // plans queued command by command
  std::int64_t merged = 0;        // launches that executables spared by merging
};

// Remembers, for each plan, up to kInstances executables by the addresses that they were made for.
// The first run of a plan is queued command by command; the second makes an executable, of fewer
// launches where some may be merged. A single launch is worth it too: on CUDA a graph of one kernel
// is done 2 us sooner than the kernel launched by itself. Where the driver has no executables, or
// none that holds a function of the plan, the commands themselves are kept.
class PlanReplay {
 public:
  PlanReplay(runtime::Driver& driver, runtime::KernelRegistry& registry)
      : driver_(driver), registry_(registry) {}

  // Queues the executable of `plan` for exactly these addresses, or returns false.
  bool launch(const std::shared_ptr<const void>& plan, std::span<const Address> addresses);
  // Queues freshly encoded commands of the plan, and keeps an executable if it is time for one. The
  // batch is empty afterwards.
  void run(const std::shared_ptr<const void>& plan, std::span<const Address> addresses,
           runtime::CommandBatch& batch);
  // Whether the plan was queued before, as far as is remembered.
  bool has_run(const std::shared_ptr<const void>& plan);
  void clear() noexcept { plans_.clear(); }
  const ReplayStatistics& statistics() const noexcept { return statistics_; }

 private:
  static constexpr std::size_t kInstances = 4;
  static constexpr std::size_t kPlans = 256;

  struct Instance {
    std::vector<Address> addresses;
    std::unique_ptr<runtime::Executable> executable;
    runtime::CommandBatch batch;  // where there is no executable
    std::size_t commands = 0;
    std::int64_t last_use = 0;
  };
  struct Entry {
    std::weak_ptr<const void> plan;
    std::int64_t runs = 0;
    std::vector<Instance> instances;
  };

  Entry& entry_of(const std::shared_ptr<const void>& plan);
  void forget_dead_plans();

  runtime::Driver& driver_;
  runtime::KernelRegistry& registry_;
  std::unordered_map<const void*, Entry> plans_;
  std::int64_t clock_ = 0;
  ReplayStatistics statistics_;
};

}  // namespace hearth::gpu
