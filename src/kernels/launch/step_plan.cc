#include "kernels/launch/step_plan.h"

#include <algorithm>

#include "core/axes.h"

namespace hearth::gpu {
namespace {

// What cuBLAS and cuDNN want; the planner aligns to kAlignment.
constexpr std::int64_t kWorkspaceAlignment = 256;

Address aligned(Address workspace) {
  const auto bits = reinterpret_cast<std::uintptr_t>(workspace);
  return workspace + (kWorkspaceAlignment - bits % kWorkspaceAlignment) % kWorkspaceAlignment;
}

runtime::Argument argument_of(const StepArgument& from, const Launch& launch, const Step& step) {
  switch (from.from) {
    case StepArgument::From::operand:
      return runtime::memory(launch.operands[from.operand] + from.offset, from.bytes);
    case StepArgument::From::workspace:
      return runtime::memory(aligned(launch.workspace) + from.offset, from.bytes);
    case StepArgument::From::dynamics:
      return launch.encoder->dynamics();
    case StepArgument::From::constants:
      break;
  }
  const std::span<const std::byte> all = std::as_bytes(std::span(step.constants));
  return {nullptr, from.bytes == 0 ? static_cast<std::int64_t>(all.size()) : from.bytes,
          all.data() + from.offset};
}

bool is_aligned(const Step& step, const Launch& launch) {
  return std::all_of(step.arguments.begin(), step.arguments.end(), [&](const StepArgument& from) {
    if (from.from != StepArgument::From::operand) return true;
    const auto address =
        reinterpret_cast<std::uintptr_t>(launch.operands[from.operand] + from.offset);
    return address % static_cast<std::uintptr_t>(from.alignment) == 0;
  });
}

// Of the texts and functions of src/kernels, which say no more than this.
bool is_same(const runtime::KernelSource& one, const runtime::KernelSource& other) {
  return one.name == other.name && one.text == other.text && one.function == other.function &&
         one.max_threads == other.max_threads &&
         std::equal(one.parameters.begin(), one.parameters.end(), other.parameters.begin(),
                    other.parameters.end(), [](const auto& a, const auto& b) {
                      return a.kind == b.kind && a.type == b.type && a.name == b.name &&
                             a.count == b.count;
                    });
}

// Whether the steps can be launched as they are.
bool suits(const StepPlan& plan, const Launch& launch) {
  return std::all_of(plan.steps().begin(), plan.steps().end(), [&](const Step& step) {
    return (step.unaligned_variant != nullptr || is_aligned(step, launch)) &&
           launch.encoder->supports(*step.kernel);
  });
}

}  // namespace

const runtime::LazyKernel& StepPlan::add_kernel(runtime::KernelSource source, bool rare) {
  for (const runtime::LazyKernel* known : kernels) {
    if (known->source() != nullptr && is_same(*known->source(), source)) return *known;
  }
  const runtime::LazyKernel& kernel = kernels_.emplace_back(std::move(source));
  if (!rare) kernels.push_back(&kernel);
  return kernel;
}

const runtime::LazyKernel& StepPlan::add_library_call(runtime::LibraryCall call) {
  const runtime::LazyKernel& kernel = kernels_.emplace_back(std::move(call));
  kernels.push_back(&kernel);
  return kernel;
}

void StepPlan::add_step(Step step) { steps_.push_back(std::move(step)); }

std::int64_t StepPlan::add_workspace(std::int64_t bytes) {
  const std::int64_t offset = workspace_bytes_;
  workspace_bytes_ += ceil_div(bytes, kWorkspaceAlignment) * kWorkspaceAlignment;
  return offset;
}

Prepared prepared_steps(std::shared_ptr<const StepPlan> plan) {
  std::int64_t bytes = plan->workspace_bytes();
  if (plan->fallback() != nullptr) bytes = std::max(bytes, plan->fallback()->workspace_bytes());
  return prepared(std::move(plan), bytes == 0 ? 0 : bytes + kWorkspaceAlignment - kAlignment);
}

void launch_steps(const Launch& launch) { launch_steps(plan_as<StepPlan>(launch), launch); }

void launch_steps(const StepPlan& plan, const Launch& launch) {
  if (plan.fallback() != nullptr && !suits(plan, launch)) {
    return launch_steps(*plan.fallback(), launch);
  }
  std::vector<runtime::Argument> arguments;
  for (const Step& each : plan.steps()) {
    const bool other = each.unaligned_variant != nullptr && !is_aligned(each, launch);
    const Step& step = other ? *each.unaligned_variant : each;
    arguments.clear();
    for (const StepArgument& from : step.arguments) {
      arguments.push_back(argument_of(from, launch, step));
    }
    launch.encoder->dispatch(*step.kernel, step.groups, step.threads, arguments, step.work,
                             step.shares);
  }
}

StridedOperand strided_operand(const TensorSpec& spec, int operand) {
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < spec.shape.rank(); ++axis) {
    const std::int64_t reach = (spec.shape[axis] - 1) * spec.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  StridedOperand result;
  const std::int64_t item = size_of(spec.dtype);
  result.argument = {StepArgument::From::operand, operand, low * item, (high - low + 1) * item};
  result.base = -low;
  if (element_count(spec.shape) == 0) result = {{StepArgument::From::operand, operand, 0, 0}, 0};
  return result;
}

void merge_kernel_axes(Shape* shape, const std::vector<Strides*>& strides) {
  merge_axes(shape, strides);
  if (shape->rank() > 0) return;
  shape->push_back(1);
  for (Strides* each : strides) each->push_back(0);
}

}  // namespace hearth::gpu
