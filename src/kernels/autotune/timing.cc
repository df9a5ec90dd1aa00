#include "kernels/autotune/timing.h"

#include <algorithm>
#include <numeric>

#include "kernels/launch/step_plan.h"
#include "runtime/commands/command_batch.h"
#include "runtime/tune/trials.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kPage = 256;  // what addresses are alike by

// Memory like that of a launch, and nobody else's.
class Scratch {
 public:
  // Throws Error{out_of_memory}.
  Scratch(runtime::Driver& driver, const Launch& launch, std::int64_t most)
      : driver_(driver), left_(most) {
    const Signature& signature = *launch.signature;
    try {
      for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
        const Address real = launch.operands[i];
        const bool is_there = real != nullptr && !signature.inputs[i].absent;
        operands_.push_back(is_there ? make(signature.inputs[i], real, true) : nullptr);
      }
      // Where an op overwrites an input, it does so here.
      const auto same =
          std::find(launch.operands, launch.operands + operands_.size(), launch.output()) -
          launch.operands;
      operands_.push_back(static_cast<std::size_t>(same) < operands_.size()
                              ? operands_[static_cast<std::size_t>(same)]
                              : make(signature.output, launch.output(), false));
      for (int i = 1; i < signature.output_count(); ++i) {
        const bool is_there = !signature.output_at(i).absent;
        operands_.push_back(is_there ? make(signature.output_at(i), launch.output(i), false)
                                     : nullptr);
      }
    } catch (...) {
      free_all();
      throw;
    }
  }
  ~Scratch() { free_all(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::vector<Address>& operands() const noexcept { return operands_; }
  Address allocate(std::int64_t bytes) {
    left_ -= bytes;
    if (left_ < 0) throw Error(ErrorCode::out_of_memory, "a trial: more memory than it may take");
    blocks_.reserve(blocks_.size() + 1);
    blocks_.push_back(driver_.allocate(bytes));
    return blocks_.back();
  }

 private:
  // The address of the first element, which is aligned as the real one is.
  Address make(const TensorSpec& spec, Address real, bool fills) {
    const StepArgument range = strided_operand(spec, 0).argument;
    const std::int64_t bytes = range.bytes + 2 * kPage;
    const Address block = allocate(bytes);
    if (fills) fill(block, bytes, spec.dtype);
    const auto mod = [](Address address) {
      return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % kPage);
    };
    const Address first = block - range.offset;
    return first + (mod(real) - mod(first) + kPage) % kPage;
  }
  void fill(Address block, std::int64_t bytes, DType dtype) {
    const std::vector<std::byte> values = runtime::trial_numbers(dtype);
    if (values.empty()) return driver_.fill(block, 0, bytes);
    std::int64_t filled = std::min(static_cast<std::int64_t>(values.size()), bytes);
    driver_.copy_to_device(block, values.data(), filled);
    while (filled < bytes) {
      const std::int64_t more = std::min(filled, bytes - filled);
      driver_.copy_on_device(block + filled, block, more);
      filled += more;
    }
  }
  void free_all() noexcept {
    for (const Address block : blocks_) driver_.free(block);
  }

  runtime::Driver& driver_;
  std::int64_t left_;
  std::vector<Address> blocks_, operands_;
};

// What a candidate launches. Throws Error{unsupported} for one that its library or this device does
// not take.
runtime::CommandBatch commands_of(const Candidate& candidate, Launch launch,
                                  runtime::KernelRegistry& registry,
                                  const runtime::Properties& properties,
                                  const runtime::Argument& dynamics) {
  runtime::CommandBatch batch;
  runtime::Encoder encoder(registry, batch, properties, dynamics.address, dynamics.bytes);
  launch.encoder = &encoder;
  launch_candidate(candidate, launch);
  return batch;
}

void compile_all(runtime::KernelRegistry& registry, const CandidatePlan& plan) {
  std::vector<const runtime::KernelSource*> sources;
  for (const Candidate& each : plan.candidates()) {
    for (const auto* kernel : static_cast<const KernelPlan*>(each.prepared.state.get())->kernels) {
      if (!kernel->is_ready() && kernel->source() != nullptr) sources.push_back(kernel->source());
    }
  }
  registry.prepare(sources);
}

}  // namespace

std::optional<runtime::CandidateSeconds> measure(runtime::Driver& driver,
                                                 runtime::KernelRegistry& registry,
                                                 const CandidatePlan& plan, const Launch& launch,
                                                 runtime::Argument dynamics,
                                                 const TrialLimits& limits) try {
  const std::vector<Candidate>& candidates = plan.candidates();
  Scratch scratch(driver, launch, limits.bytes);
  Launch elsewhere = launch;
  elsewhere.operands = scratch.operands().data();
  elsewhere.workspace = nullptr;
  std::int64_t workspace = 0;
  for (const Candidate& each : candidates) {
    workspace = std::max(workspace, each.prepared.workspace_bytes);
  }
  if (workspace > 0) elsewhere.workspace = scratch.allocate(workspace);
  compile_all(registry, plan);

  runtime::Trials trials(candidates.size(), limits.far_behind, false);
  std::vector<std::optional<runtime::CommandBatch>> batches(candidates.size());
  double spent = 0;
  for (int round = 0; round <= limits.rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (spent >= (round == 0 ? limits.first_seconds : limits.seconds)) break;
      try {
        if (round == 0) {
          batches[i] =
              commands_of(candidates[i], elsewhere, registry, driver.properties(), dynamics);
        }
        if (!batches[i] || !trials.runs_next(i)) continue;
        const std::vector<double> each = driver.time(batches[i]->commands());
        if (each.empty()) return std::nullopt;  // the driver cannot tell
        const double took = std::accumulate(each.begin(), each.end(), 0.0);
        trials.add(i, took);
        spent += took;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        batches[i].reset();
      }
    }
  }
  runtime::CandidateSeconds seconds = trials.middles();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!batches[i]) seconds[i].reset();
  }
  return seconds;
} catch (const Error& error) {
  if (error.code() != ErrorCode::out_of_memory) throw;
  return std::nullopt;
}

}  // namespace hearth::gpu
