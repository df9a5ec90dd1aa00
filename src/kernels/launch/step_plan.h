// A prepared implementation whose launches are known when the plan is made, as most are: prepare()
// lists the steps, launch_steps() launches them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/integer_math.h"
#include "graph/params.h"
#include "kernels/launch/divisor.h"
#include "kernels/launch/kernel_plan.h"

namespace hearth::gpu {

using runtime::KernelParameter;
using runtime::Size3;
using Kind = runtime::KernelParameter::Kind;

// The argument of a step's parameter.
struct StepArgument {
  enum class From : std::uint8_t { operand, workspace, dynamics, constants };
  From from = From::operand;
  int operand = 0;             // of the launch: inputs, then the output
  std::int64_t offset = 0;     // bytes
  std::int64_t bytes = 0;      // of constants: 0 is all of them
  std::int64_t alignment = 1;  // bytes, of the address of an operand: see Step::unaligned_variant
};

inline constexpr StepArgument kDynamics{StepArgument::From::dynamics, 0, 0, 0};
inline constexpr StepArgument kConstants{StepArgument::From::constants, 0, 0, 0};

struct Step {
  const runtime::LazyKernel* kernel = nullptr;
  Size3 groups{1}, threads{32};  // left alone for a library's function
  std::vector<StepArgument> arguments;
  std::vector<std::int64_t>
      constants;    // the words of the constant struct: all members have 8 bytes
  double work = 0;  // as Command::work
  runtime::Command::Shares shares = {};
  // Launched instead where an address is not as aligned as its argument says.
  std::shared_ptr<const Step> unaligned_variant;
};

// Of products of matrices: Step::work.
inline double product_work(std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k) {
  return static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

class StepPlan final : public KernelPlan {
 public:
  // A kernel that the steps may launch; it lives as long as the plan. A `rare` one is compiled when
  // it is launched, and not before. One that is not rare is kept once, however often it is added.
  const runtime::LazyKernel& add_kernel(runtime::KernelSource source, bool rare = false);
  const runtime::LazyKernel& add_library_call(runtime::LibraryCall call);
  void add_step(Step step);
  // The step make(wide, rare); where `wide`, with one that is not, and whose kernel is rare, for
  // addresses that are not as aligned as the arguments of the first one say.
  template <class Make>
  void add_step(bool wide, const Make& make) {
    Step step = make(wide, false);
    if (wide) step.unaligned_variant = std::make_shared<Step>(make(false, true));
    add_step(std::move(step));
  }
  // Launched instead where an address is not as aligned as an argument without
  // Step::unaligned_variant says, or a library refuses a call. Its kernels are compiled then.
  void set_fallback(std::shared_ptr<const StepPlan> fallback) { fallback_ = std::move(fallback); }
  const StepPlan* fallback() const noexcept { return fallback_.get(); }
  // Reserves workspace, aligned to 256 bytes; returns its offset in bytes.
  std::int64_t add_workspace(std::int64_t bytes);

  const std::vector<Step>& steps() const noexcept { return steps_; }
  std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }

 private:
  std::deque<runtime::LazyKernel> kernels_;
  std::vector<Step> steps_;
  std::int64_t workspace_bytes_ = 0;
  std::shared_ptr<const StepPlan> fallback_;
};

// The end of every prepare(), and the launch that goes with it.
Prepared prepared_steps(std::shared_ptr<const StepPlan> plan);
void launch_steps(const Launch& launch);
void launch_steps(const StepPlan& plan, const Launch& launch);

// An operand as a kernel sees it: the bytes it may touch, and where its elements lie from the
// lowest of them on.
struct StridedOperand {
  StepArgument argument;
  std::int64_t base = 0;  // elements from the lowest address to the first element
};
StridedOperand strided_operand(const TensorSpec& spec, int operand);

// merge_axes(), but at least one axis is left. Keeps kernels apart by rank only where the memory
// really differs.
void merge_kernel_axes(Shape* shape, const std::vector<Strides*>& strides);

// 32-bit positions where they suffice.
inline const char* index_type(std::int64_t count) {
  return count < (std::int64_t{1} << 31) ? "uint" : "ulong";
}

// Threadgroups of kThreads threads, which every device takes, for `count` threads in all.
inline constexpr std::uint32_t kThreads = 256;
inline Size3 groups_for(std::int64_t count) {
  return {static_cast<std::uint32_t>(ceil_div(count, kThreads)), 1, 1};
}

// The first static parameter of ops along an axis.
inline int axis_of(const Signature& signature) {
  return static_cast<int>(ParamReader(signature.statics).i64());
}

inline const char* truth(bool value) { return value ? "true" : "false"; }

}  // namespace hearth::gpu
