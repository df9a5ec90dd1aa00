// causal_softmax: kernels/softmax/causal_softmax.metal.
#include <bit>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/row_split.h"
#include "kernels/softmax/softmax.h"

namespace hearth::gpu {

#include "kernels/softmax/params.h"

namespace {

constexpr std::int64_t kMaxCausalLanes = 512;  // threads of a row, as for softmax

RowSplit causal_split(const TensorSpec& x) {
  return split_kept_rows(element_count(x.shape) / x.shape.back(), x.shape.back(), x.dtype,
                         kMaxCausalLanes);
}

}  // namespace

// Longer rows than threads hold are composed.
bool accepts_causal_rows(const Signature& signature) {
  const TensorSpec& x = signature.inputs[0];
  return element_count(x.shape) > 0 && fits_rows(x.shape) && causal_split(x).whole;
}

Prepared prepare_causal_rows(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  const RowAxes axes(x.shape, {&x});
  const RowSplit split = causal_split(x);
  const char* const type = dialect_type(x.dtype);
  ParamReader statics(signature.statics);
  const double scale = statics.f64();
  const bool causal = statics.boolean();
  const StridedOperand from = strided_operand(x, 0);
  plan->add_step(KernelCall("softmax/causal_softmax.metal", "causal_softmax",
                            {dtype_struct(x.dtype), std::to_string(split.held), axes.rank()})
                     .read(type, "x", from.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(CausalSoftmaxParams<kRuntimeRank>{
                         .split = split.params(),
                         .rows = x.shape[x.shape.rank() - 2],
                         .causal = causal ? 1 : 0,
                         .scale = std::bit_cast<std::int64_t>(scale),
                         .x = {from.base, &axes.shape, &axes.strides[0]}})
                     .threadgroup(sum_type(x.dtype), "shared", 64)
                     .step(*plan, split.groups, split.threads, kMaxCausalLanes));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
