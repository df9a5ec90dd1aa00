#include "kernels/autotune/timing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/launch/step_plan.h"
#include "runtime/commands/command_batch.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kPage = 256;  // what addresses are alike by
// Random numbers in a row, which then repeat: a prime, so that rows of a matrix differ. Zeros would
// take a device less power, and so less time.
constexpr std::size_t kNumbers = 8191;

template <class T>
std::vector<std::byte> numbers_of() {
  std::mt19937 bits(1);
  std::normal_distribution<float> normal;
  std::vector<T> values(kNumbers);
  for (T& value : values) value = T(normal(bits));
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Empty for what is no float: zeros hide nothing, and are positions that exist.
std::vector<std::byte> numbers(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return numbers_of<double>();
    case DType::f32:
      return numbers_of<float>();
    case DType::f16:
      return numbers_of<float16>();
    case DType::bf16:
      return numbers_of<bfloat16>();
    default:
      return {};
  }
}

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
    const std::vector<std::byte> values = numbers(dtype);
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

double middle(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

class Trial {
 public:
  // Throws Error{unsupported} for a candidate that its library or this device does not take.
  Trial(runtime::Driver& driver, runtime::KernelRegistry& registry, const Candidate& candidate,
        Launch launch, const runtime::Argument& dynamics)
      : driver_(driver) {
    runtime::Encoder encoder(registry, batch_, driver.properties(), dynamics.address,
                             dynamics.bytes);
    launch.encoder = &encoder;
    launch_candidate(candidate, launch);
  }
  // False where the driver cannot tell.
  bool run() {
    const std::vector<double> each = driver_.time(batch_.commands());
    if (each.empty()) return false;
    seconds_.push_back(std::accumulate(each.begin(), each.end(), 0.0));
    return true;
  }
  double last() const { return seconds_.back(); }
  double least() const { return *std::min_element(seconds_.begin(), seconds_.end()); }
  bool has_run() const noexcept { return !seconds_.empty(); }
  // Without the first run, unless there was no other.
  double result() const {
    return seconds_.size() == 1 ? seconds_[0] : middle({seconds_.begin() + 1, seconds_.end()});
  }

 private:
  runtime::Driver& driver_;
  runtime::CommandBatch batch_;
  std::vector<double> seconds_;
};

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

  std::vector<std::unique_ptr<Trial>> trials(candidates.size());
  double spent = 0, fastest = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= limits.rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (spent >= (round == 0 ? limits.first_seconds : limits.seconds)) break;
      try {
        if (round == 0) {
          trials[i] = std::make_unique<Trial>(driver, registry, candidates[i], elsewhere, dynamics);
        }
        Trial* const trial = trials[i].get();
        if (trial == nullptr) continue;
        if (round > 0 && trial->least() > limits.far_behind * fastest) continue;
        if (!trial->run()) return std::nullopt;
        spent += trial->last();
        fastest = std::min(fastest, trial->last());
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        trials[i].reset();
      }
    }
  }
  runtime::CandidateSeconds seconds;
  for (const auto& trial : trials) {
    seconds.push_back(trial != nullptr && trial->has_run() ? std::optional(trial->result())
                                                           : std::nullopt);
  }
  return seconds;
} catch (const Error& error) {
  if (error.code() != ErrorCode::out_of_memory) throw;
  return std::nullopt;
}

}  // namespace hearth::gpu
