#include "kernels/conv/library.h"

#include <algorithm>
#include <memory>

#include "core/compute_class.h"
#include "graph/channels_last.h"
#include "graph/record/node.h"
#include "graph/switches.h"
#include "kernels/conv/gathered.h"
#include "kernels/conv/problem.h"
#include "kernels/launch/kernel_call.h"
#include "ops/conv/conv_shapes.h"
#include "ops/conv/window.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

// A workspace takes at most 1 / kConvWorkspaceOfMemory of a device's memory.
constexpr std::int64_t kConvWorkspaceOfMemory = 32;
// What a library needs beside copies of the operands.
constexpr std::int64_t kMinConvWorkspace = std::int64_t{32} << 20;

// Whether channels are innermost in some operand, where that is another order than row-major: then
// they are in all.
bool has_channels_last_operand(const Signature& signature) {
  const auto is_last = [](const TensorSpec& spec) {
    return is_only_channels_last(spec.shape, spec.strides);
  };
  return is_last(signature.inputs[0]) || is_last(signature.inputs[1]) || is_last(signature.output);
}

ConvProblem problem_of(const Signature& signature) {
  ParamReader statics(signature.statics);
  const ConvWindow window(statics);
  const ConvShapes of = conv_shapes(signature);
  ConvProblem problem;
  if (signature.op == &defs::conv_input_gradient_op) problem.kind = ConvProblem::input_gradient;
  if (signature.op == &defs::conv_weight_gradient_op) problem.kind = ConvProblem::weight_gradient;
  problem.dtype = static_cast<std::int64_t>(signature.output.dtype);
  problem.tf32 = signature.output.dtype == DType::f32 && switches().tf32 ? 1 : 0;
  problem.deterministic = switches().deterministic ? 1 : 0;
  problem.channels_last = has_channels_last_operand(signature) ? 1 : 0;
  problem.axes = window.axes();
  problem.batch = of.x[0];
  problem.inputs = of.x[1];
  problem.outputs = of.result[1];
  problem.groups = window.groups;
  for (int i = 0; i < window.axes(); ++i) {
    problem.extent[i] = of.x[i + 2];
    problem.kernel[i] = of.weight[i + 2];
    problem.positions[i] = of.result[i + 2];
    problem.stride[i] = window.stride[i];
    problem.dilation[i] = window.dilation[i];
    problem.before[i] = window.before[i];
    problem.after[i] = window.after[i];
  }
  return problem;
}

// Copies of all operands in the order that the library's kernels like, in f32.
std::int64_t workspace_of(const Signature& signature) {
  std::int64_t elements = element_count(signature.output.shape);
  for (int i = 0; i < 2; ++i) {
    elements += element_count(signature.inputs[static_cast<std::size_t>(i)].shape);
  }
  std::int64_t bytes = elements * size_of(DType::f32) + kMinConvWorkspace;
  if (signature.device->memory > 0) {
    bytes = std::min(
        bytes, std::max(signature.device->memory / kConvWorkspaceOfMemory, kMinConvWorkspace));
  }
  return bytes;
}

}  // namespace

bool accepts_conv_library(const Signature& signature) {
  const ConvProblem problem = problem_of(signature);
  if (signature.output.dtype == DType::f64 || !accepts_gathered(signature)) return false;
  if (element_count(signature.output.shape) == 0) return true;
  for (int i = 0; i < 2; ++i) {
    if (element_count(signature.inputs[static_cast<std::size_t>(i)].shape) == 0) return false;
  }
  // Gradients of fewer positions than the window makes are none that a library knows.
  ParamReader statics(signature.statics);
  const ConvWindow window(statics);
  for (int i = 0; i < problem.axes; ++i) {
    if (window.positions(i, problem.extent[i], problem.kernel[i]) != problem.positions[i]) {
      return false;
    }
    // cuDNN 9.14 gives wrong sums here, of strided and dilated windows in each float dtype.
    if (problem.kind == ConvProblem::weight_gradient && problem.before[i] != problem.after[i]) {
      return false;
    }
  }
  return true;
}

TuningClass conv_class(const Signature& signature) {
  const ConvProblem problem = problem_of(signature);
  TuningClass made;
  made.problem = std::string(name(signature.output.dtype));
  for (const TensorSpec& input : signature.inputs) {
    if (!input.absent) made.problem += " " + to_string(input.shape);
  }
  for (const std::int64_t word : runtime::to_words(problem)) {
    made.problem += " " + std::to_string(word);
  }
  const bool has_strides = std::any_of(problem.stride, problem.stride + problem.axes,
                                       [](std::int64_t step) { return step > 1; });
  if (problem.kind == ConvProblem::input_gradient && has_strides && problem.tf32 == 0 &&
      signature.output.dtype == DType::f32) {
    made.work = static_cast<double>(element_count(signature.inputs[0].shape)) *
                static_cast<double>(element_count(signature.inputs[1].shape)) /
                static_cast<double>(std::max<std::int64_t>(problem.outputs, 1));
  }
  return made;
}

// Groups leave tensor cores little to multiply: they take what they get.
bool wants_conv_channels_last(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  const TensorSpec& first = signature.inputs[0];
  if (first.shape.rank() < 4 || element_count(signature.output.shape) == 0 ||
      (!is_half(dtype) && !(dtype == DType::f32 && switches().tf32))) {
    return false;
  }
  ParamReader statics(signature.statics);
  return ConvWindow(statics).groups == 1 || is_only_channels_last(first.shape, first.strides);
}

Prepared prepare_conv_library(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const Shape& out = signature.output.shape;
  if (element_count(out) == 0) return prepared_steps(std::move(plan));
  ConvProblem problem = problem_of(signature);
  problem.workspace_bytes = workspace_of(signature);
  const StepArgument result = output_argument(signature);
  Step step;
  step.kernel = &plan->add_library_call(conv_call(problem));
  step.arguments = {aligned(input_argument(signature, 0), kConvAlignment),
                    aligned(input_argument(signature, 1), kConvAlignment),
                    aligned(result, kConvAlignment), workspace(*plan, problem.workspace_bytes)};
  plan->add_step(std::move(step));
  if (signature.inputs.size() > 2 && !signature.inputs[2].absent) {
    add_conv_bias(*plan, signature);
  }
  // Where the library refuses the call, or an operand begins elsewhere.
  plan->set_fallback(has_few_outputs(signature) ? conv_direct_steps(signature)
                                                : implicit_gemm_steps(signature));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
