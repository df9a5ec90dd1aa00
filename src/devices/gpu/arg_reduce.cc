// argmax and argmin: kernels/arg_reduce.h.
#include <algorithm>
#include <memory>

#include "devices/gpu/dialect_types.h"
#include "devices/gpu/op_kernels.h"
#include "devices/gpu/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kSimdWidth = 32;

// The type that elements are compared in.
const char* compare_type(DType dtype) {
  return is_float(dtype) && dtype != DType::f64 ? "float" : dialect_type(dtype);
}

template <bool kSmallest>
Prepared prepare_arg(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& input = signature.inputs[0];
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  if (element_count(input.shape) == 0) return prepared_steps(std::move(plan));
  const StridedOperand x = strided_operand(input, 0);
  const std::int64_t length = input.shape[axis], stride = input.strides[axis];
  Shape lines = input.shape;
  lines[axis] = 1;
  Strides strides = input.strides;
  const std::int64_t count = element_count(lines);
  merge_axes(&lines, {&strides});
  const std::string compare = compare_type(input.dtype);
  const std::vector<std::string> arguments = {
      dialect_type(input.dtype), compare, dialect_type(signature.output.dtype),
      kSmallest ? "true" : "false", std::to_string(lines.rank())};
  runtime::KernelSource source;
  source.name = entry_name("arg_reduce", arguments);
  source.text = "#include \"kernels/arg_reduce.h\"\n";
  source.function = instance("arg_reduce", arguments);
  source.parameters = {{Kind::read, dialect_type(input.dtype), "x"},
                       {Kind::write, dialect_type(signature.output.dtype), "y"},
                       {Kind::constant, "ArgParams<" + std::to_string(lines.rank()) + ">", "p"},
                       {Kind::threadgroup, compare, "values", kSimdWidth},
                       {Kind::threadgroup, "long", "positions", kSimdWidth}};
  Step step;
  step.kernel = &plan->add_kernel(std::move(source));
  step.groups = {static_cast<std::uint32_t>(count)};
  const std::int64_t wanted = (length + kSimdWidth - 1) / kSimdWidth * kSimdWidth;
  step.threads = {static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, kThreads))};
  step.constants = {length, stride};
  append_axes(lines, strides, x.base, &step.constants);
  step.arguments = {x.argument, strided_operand(signature.output, 1).argument, kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_arg_reduce_kernels(KernelTable& table) {
  table.add({.op = &defs::argmax_op, .prepare = prepare_arg<false>, .launch = launch_steps});
  table.add({.op = &defs::argmin_op, .prepare = prepare_arg<true>, .launch = launch_steps});
}

}  // namespace hearth::gpu
