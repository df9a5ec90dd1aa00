#include "devices/gpu/gpu_device.h"

#include <algorithm>

#include "kernels/autotune/candidate_plan.h"
#include "kernels/launch/kernel_plan.h"
#include "kernels/regions/region_kernel.h"
#include "runtime/commands/driver_calls.h"
#include "runtime/trace/timeline.h"

namespace hearth::gpu {
namespace {

// The arena grows to a power of two, so that a growing program moves it rarely.
std::int64_t arena_capacity(std::int64_t bytes) {
  std::int64_t capacity = std::int64_t{1} << 20;
  while (capacity < bytes) capacity *= 2;
  return capacity;
}

// For the dynamic values of several plans that are under way.
constexpr std::int64_t kDynamicsBytes = 64 * 1024;

}  // namespace

GpuDevice::GpuDevice(std::string kind, int index, std::unique_ptr<runtime::Driver> driver,
                     const GpuOptions& options)
    : DeviceImpl(std::move(kind), index),
      driver_(std::move(driver)),
      selector_({.traits = {driver_->properties(), driver_->libraries()},
                 .families = options.families,
                 .region = kRegions,
                 .rules = options.rules,
                 .measured = prepared_candidates}),
      registry_(*driver_, runtime::KernelCache(options.cache_folder), options.tunes,
                options.tuner.system),
      tuner_(*driver_, registry_, options.tuner),
      pool_(*driver_,
            static_cast<std::int64_t>(static_cast<double>(driver_->properties().memory) *
                                      options.memory_share),
            options.recycles_memory),
      replay_(*driver_, registry_) {}

GpuDevice::~GpuDevice() {
  if (arena_ != nullptr) driver_->free(arena_);
  if (dynamics_ != nullptr) driver_->free(dynamics_);
}

std::string GpuDevice::description() const {
  const runtime::Properties& properties = driver_->properties();
  return properties.name + ", " + properties.architecture + ", " +
         std::to_string(properties.memory >> 20) + " MiB";
}

void GpuDevice::trim() {
  const std::lock_guard lock(queue_mutex());
  runtime::wait(*driver_);
  replay_.clear();
  pool_.trim();
}

Address GpuDevice::arena(std::int64_t bytes) {
  if (bytes <= arena_bytes_) return arena_;
  const std::int64_t capacity = arena_capacity(bytes);
  pool_.note_arena(capacity);
  runtime::wait(*driver_);  // queued plans still use the old one
  if (arena_ != nullptr) driver_->free(arena_);
  arena_ = nullptr;
  arena_bytes_ = 0;
  try {
    arena_ = driver_->allocate(capacity);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    pool_.trim();
    arena_ = driver_->allocate(capacity);
  }
  arena_bytes_ = capacity;
  return arena_;
}

void GpuDevice::begin_plan(const std::shared_ptr<const void>& plan, std::int64_t /*arena_bytes*/) {
  plan_ = plan;
  pending_.clear();
  operands_.clear();
}

void GpuDevice::dispatch(LaunchFunction function, const Launch& launch) {
  Pending pending{function, launch, operands_.size()};
  operands_.insert(operands_.end(), launch.operands, launch.operands + launch.operand_count);
  operands_.push_back(launch.workspace);
  pending_.push_back(pending);
}

void GpuDevice::end_plan() {
  if (!pending_.empty()) {
    upload_dynamics();
    if (!replay_.launch(plan_, operands_)) {
      select_candidates();
      compile_kernels();
      encode();
      replay_.run(plan_, operands_, batch_);
    }
  }
  plan_ = nullptr;
}

void GpuDevice::abandon_plan() noexcept {
  batch_.clear();
  pending_.clear();
  plan_ = nullptr;
}

void GpuDevice::select_candidates() {
  for (Pending& pending : pending_) {
    const CandidatePlan* const plan = candidates_of(pending.launch);
    if (plan == nullptr || plan->is_selected()) continue;
    const runtime::HostSpan span("choose");
    pending.launch.operands = operands_.data() + pending.first_operand;
    tuner_.select(*plan, pending.launch, runtime::memory(dynamics_, dynamics_bytes_));
  }
}

// Where a kernel of a new plan is missing: those that its launches ask for, which may be others,
// such as a region's for operands that share memory.
void GpuDevice::compile_kernels() {
  if (replay_.has_run(plan_)) return;
  const auto is_missing = [](const runtime::LazyKernel* kernel) {
    return !kernel->is_ready() && kernel->source() != nullptr;
  };
  if (std::none_of(pending_.begin(), pending_.end(), [&](const Pending& pending) {
        const auto& kernels = running_plan(pending.launch).kernels;
        return std::any_of(kernels.begin(), kernels.end(), is_missing);
      })) {
    return;
  }
  const runtime::HostSpan span("compile kernels");
  std::vector<const runtime::LazyKernel*> needed;
  launch_all(runtime::Encoder(registry_, batch_, driver_->properties(), dynamics_, dynamics_bytes_,
                              needed));
  std::vector<const runtime::KernelSource*> sources;
  for (const runtime::LazyKernel* kernel : needed) {
    if (is_missing(kernel)) sources.push_back(kernel->source());
  }
  registry_.prepare(sources);
}

void GpuDevice::upload_dynamics() {
  const Launch& any = pending_.front().launch;
  const std::span<const std::uint64_t> words(any.dynamics,
                                             static_cast<std::size_t>(any.dynamic_count));
  const auto bytes = static_cast<std::int64_t>(words.size_bytes());
  if (bytes > dynamics_bytes_ || dynamics_ == nullptr) {
    runtime::wait(*driver_);
    if (dynamics_ != nullptr) driver_->free(dynamics_);
    dynamics_ = nullptr;
    dynamics_bytes_ = std::max(2 * bytes, kDynamicsBytes);
    dynamics_ = driver_->allocate(dynamics_bytes_);
    uploaded_.clear();
    replay_.clear();  // executables name the old block
  }
  if (words.size() <= uploaded_.size() &&
      std::equal(words.begin(), words.end(), uploaded_.begin())) {
    return;
  }
  runtime::copy_to_device(*driver_, dynamics_, words.data(), bytes);
  uploaded_.assign(words.begin(), words.end());
}

void GpuDevice::encode() {
  const runtime::HostSpan span("encode");
  launch_all(
      runtime::Encoder(registry_, batch_, driver_->properties(), dynamics_, dynamics_bytes_));
}

void GpuDevice::launch_all(runtime::Encoder encoder) {
  for (Pending& pending : pending_) {
    pending.launch.operands = operands_.data() + pending.first_operand;
    pending.launch.encoder = &encoder;
    pending.function(pending.launch);
    if (pending.launch.early != Launch::kNoOperand) {
      batch_.note_early(runtime::memory(pending.launch.operands[pending.launch.early],
                                        pending.launch.early_bytes));
    }
  }
}

void GpuDevice::copy_to_device(Address target, const void* source, std::int64_t bytes) {
  const std::lock_guard lock(queue_mutex());
  runtime::copy_to_device(*driver_, target, source, bytes);
}

void GpuDevice::copy_to_host(void* target, Address source, std::int64_t bytes) {
  const std::lock_guard lock(queue_mutex());
  runtime::copy_to_host(*driver_, target, source, bytes);
}

bool GpuDevice::read_early(std::int64_t plan, void* target, Address source, std::int64_t bytes) {
  const std::lock_guard lock(queue_mutex());
  return runtime::read_early(*driver_, plan, target, source, bytes);
}

void GpuDevice::synchronize() {
  const std::lock_guard lock(queue_mutex());
  runtime::wait(*driver_);
}

}  // namespace hearth::gpu
