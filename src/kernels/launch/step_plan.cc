#include "kernels/launch/step_plan.h"

#include <algorithm>

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
  return {nullptr, static_cast<std::int64_t>(step.constants.size() * sizeof(std::int64_t)),
          step.constants.data()};
}

bool is_aligned(const Step& step, const Launch& launch) {
  return std::all_of(step.arguments.begin(), step.arguments.end(), [&](const StepArgument& from) {
    if (from.from != StepArgument::From::operand) return true;
    const auto address =
        reinterpret_cast<std::uintptr_t>(launch.operands[from.operand] + from.offset);
    return address % static_cast<std::uintptr_t>(from.alignment) == 0;
  });
}

}  // namespace

const runtime::LazyKernel& StepPlan::add_kernel(runtime::KernelSource source, bool rare) {
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
  workspace_bytes_ += parts(bytes, kWorkspaceAlignment) * kWorkspaceAlignment;
  return offset;
}

Prepared prepared_steps(std::shared_ptr<const StepPlan> plan) {
  const std::int64_t bytes = plan->workspace_bytes();
  return prepared(std::move(plan), bytes == 0 ? 0 : bytes + kWorkspaceAlignment - kAlignment);
}

void launch_steps(const Launch& launch) { launch_steps(plan_as<StepPlan>(launch), launch); }

void launch_steps(const StepPlan& plan, const Launch& launch) {
  std::vector<runtime::Argument> arguments;
  for (const Step& each : plan.steps()) {
    const bool other = each.otherwise != nullptr && !is_aligned(each, launch);
    const Step& step = other ? *each.otherwise : each;
    arguments.clear();
    for (const StepArgument& from : step.arguments) {
      arguments.push_back(argument_of(from, launch, step));
    }
    launch.encoder->dispatch(*step.kernel, step.groups, step.threads, arguments);
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

void append_axes(const Shape& shape, const Strides& strides, std::int64_t base,
                 std::vector<std::int64_t>* words) {
  words->push_back(base);
  words->insert(words->end(), shape.begin(), shape.end());
  words->insert(words->end(), strides.begin(), strides.end());
}

void merge_axes(Shape* shape, std::vector<Strides*> strides) {
  int axis = 0;
  while (axis < shape->rank()) {
    const bool drop = (*shape)[axis] == 1 && shape->rank() > 1;
    bool merge = axis > 0 && !drop;
    for (const Strides* each : strides) {
      merge = merge && (*each)[axis - 1] == (*shape)[axis] * (*each)[axis];
    }
    if (drop) {
      shape->erase(axis);
      for (Strides* each : strides) each->erase(axis);
    } else if (merge) {
      (*shape)[axis - 1] *= (*shape)[axis];
      for (Strides* each : strides) (*each)[axis - 1] = (*each)[axis];
      shape->erase(axis);
      for (Strides* each : strides) each->erase(axis);
    } else {
      ++axis;
    }
  }
  if (shape->rank() == 0) {
    shape->push_back(1);
    for (Strides* each : strides) each->push_back(0);
  }
}

std::string entry_name(const std::string& function, const std::vector<std::string>& arguments) {
  std::string name = function;
  for (const std::string& argument : arguments) name += "_" + argument;
  return name;
}

std::string instance(const std::string& function, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return function;
  std::string text = function + "<";
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ">";
}

runtime::KernelSource library_kernel(const std::string& file, const std::string& function,
                                     const std::vector<std::string>& arguments,
                                     std::vector<KernelParameter> parameters,
                                     std::int64_t max_threads) {
  runtime::KernelSource source;
  source.name = entry_name(function, arguments);
  source.text = "#include \"kernels/" + file + "\"\n";
  source.function = instance(function, arguments);
  source.parameters = std::move(parameters);
  source.max_threads = static_cast<int>(max_threads);
  return source;
}

}  // namespace hearth::gpu
