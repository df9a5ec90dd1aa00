// attention_weights: kernels/softmax/causal_softmax.metal.
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/row_split.h"
#include "kernels/regions/region_values.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostLanes = 512;  // threads of a row, as for softmax

RowSplit split_of(const TensorSpec& x) {
  return split_kept_rows(element_count(x.shape) / x.shape.back(), x.shape.back(), x.dtype,
                         kMostLanes);
}

// Longer rows than threads hold are composed.
bool accepts_held_rows(const Signature& signature) {
  const TensorSpec& x = signature.inputs[0];
  return element_count(x.shape) > 0 && fits_rows(x.shape) && split_of(x).whole;
}

Prepared prepare_held_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const RowAxes axes(x.shape, {&x});
  const RowSplit split = split_of(x);
  const char* const type = dialect_type(x.dtype);
  ParamReader statics(signature.statics);
  const double scale = statics.f64();
  const bool causal = statics.boolean();
  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("softmax/causal_softmax.metal", "attention_weights",
                     {dtype_struct(x.dtype), std::to_string(split.held), axes.rank()},
                     {{Kind::read, type, "x"},
                      {Kind::write, type, "y"},
                      {Kind::constant, "WeightsParams<" + axes.rank() + ">", "p"},
                      {Kind::threadgroup, sum_type(x.dtype), "shared", 64}},
                     kMostLanes));
  step.groups = split.groups;
  step.threads = split.threads;
  const StridedOperand from = strided_operand(x, 0);
  split.append_words(&step.constants);
  append_axes(axes.shape, axes.strides[0], from.base, &step.constants);
  step.constants.insert(step.constants.end(), {x.shape[x.shape.rank() - 2], causal ? 1 : 0,
                                               std::bit_cast<std::int64_t>(scale)});
  step.arguments = {from.argument, strided_operand(signature.output, 1).argument, kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace

void add_attention_weights(KernelTable& table) {
  table.add({.op = &defs::attention_weights_op,
             .accepts = accepts_held_rows,
             .layout = LayoutNeed::last_axis_dense,
             .prepare = prepare_held_rows,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
