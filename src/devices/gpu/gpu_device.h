// A GPU as the graph sees it, whatever its API: memory, queue and plans over a runtime::Driver.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/plan_replay.h"
#include "graph/selector.h"
#include "kernels/autotune/tuner.h"
#include "kernels/families.h"
#include "runtime/commands/driver.h"
#include "runtime/commands/encoder.h"
#include "runtime/compile/kernel_registry.h"
#include "runtime/memory/device_pool.h"

namespace hearth::gpu {

struct GpuOptions {
  bool recycles_memory = true;  // see runtime::DevicePool
  double memory_share = 0.94;   // of the device's memory, at most for arrays and arena
  std::string cache_folder = runtime::KernelCache::default_folder();
  bool tunes = true;  // as HEARTH_TUNE
  TunerOptions tuner = {};
  std::vector<Family> families = gpu::families();
  std::string rules;  // of a user, as HEARTH_CHOICES
};

// Launches of a plan are collected while it runs and queued together at its end: encoded anew, or,
// where the same plan ran on the same addresses before, as one executable of the driver.
class GpuDevice final : public DeviceImpl {
 public:
  GpuDevice(std::string kind, int index, std::unique_ptr<runtime::Driver> driver,
            const GpuOptions& options = {});
  ~GpuDevice() override;

  std::string description() const override;
  bool host_visible() const noexcept override { return false; }
  bool shares_memory() const noexcept override { return driver_->properties().unified; }

  Address allocate(std::int64_t bytes) override { return pool_.allocate(bytes); }
  void free(Address address, std::int64_t bytes) noexcept override { pool_.free(address, bytes); }
  bool adopt(const std::byte* pages, std::int64_t bytes) override {
    return driver_->adopt(pages, bytes);
  }
  void disown(const std::byte* pages, std::shared_ptr<const void> keeper) noexcept override {
    driver_->disown(pages, std::move(keeper));
  }
  MemoryStatistics memory() const override { return pool_.statistics(); }
  void reset_peak() override { pool_.reset_peak(); }
  void set_memory_limit(std::int64_t bytes) override { pool_.set_limit(bytes); }
  std::int64_t room() const override { return pool_.room(); }
  void trim() override;

  Address arena(std::int64_t bytes) override;
  void begin_plan(const std::shared_ptr<const void>& plan, std::int64_t arena_bytes) override;
  void dispatch(LaunchFunction function, const Launch& launch) override;
  void end_plan() override;
  void abandon_plan() noexcept override;

  void copy_to_device(Address target, const void* source, std::int64_t bytes) override;
  void copy_to_host(void* target, Address source, std::int64_t bytes) override;
  void synchronize() override;
  std::int64_t plans() const override { return driver_->queued_batches(); }
  bool read_early(std::int64_t plan, void* target, Address source, std::int64_t bytes) override;
  const Selector& selector() const override { return selector_; }

  runtime::Driver* driver() noexcept override { return driver_.get(); }
  runtime::KernelRegistry* registry() noexcept override { return &registry_; }
  // The results of tuning that were kept.
  const runtime::TuningFile& tuning_file() const { return registry_.autotuner().file(); }
  const ReplayStatistics& replays() const noexcept { return replay_.statistics(); }

 private:
  struct Pending {
    LaunchFunction function;
    Launch launch;
    std::size_t first_operand;
  };

  void select_candidates();
  void compile_kernels();
  void upload_dynamics();
  void encode();
  void launch_all(runtime::Encoder encoder);

  std::unique_ptr<runtime::Driver> driver_;
  const Selector selector_;
  runtime::KernelRegistry registry_;
  Tuner tuner_;
  runtime::DevicePool pool_;
  Address arena_ = nullptr;
  std::int64_t arena_bytes_ = 0;

  // The plan that is being launched.
  std::shared_ptr<const void> plan_;
  std::vector<Pending> pending_;
  std::vector<Address> operands_;  // of all pending launches, one after the other
  runtime::CommandBatch batch_;

  // The dynamic block on the device, and what was last copied there.
  Address dynamics_ = nullptr;
  std::int64_t dynamics_bytes_ = 0;
  std::vector<std::uint64_t> uploaded_;

  PlanReplay replay_;
};

}  // namespace hearth::gpu
