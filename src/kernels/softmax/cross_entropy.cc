// cross_entropy and its gradient: kernels/softmax/cross_entropy.metal.
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/row_split.h"
#include "kernels/softmax/softmax.h"

namespace hearth::gpu {

#include "kernels/softmax/params.h"

namespace {

constexpr std::int64_t kMaxLossLanes = 512;

template <bool kBackward>
Prepared prepare_rows(const Signature& signature) {
  constexpr int kLogits = kBackward ? 1 : 0, kTargets = kLogits + 1, kLosses = kTargets + 1;
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[kLogits];
  const TensorSpec& targets = signature.inputs[kTargets];
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const bool has_loss =
      kBackward && signature.inputs.size() > kLosses && !signature.inputs[kLosses].absent;
  const TensorSpec& g = signature.inputs[0];
  const TensorSpec& losses = has_loss ? signature.inputs[kLosses] : g;
  const RowAxes axes(x.shape, {&x});
  const RowSplit split = split_kept_rows(x.shape[0], x.shape[1], x.dtype, kMaxLossLanes);
  const char* const type = dialect_type(x.dtype);
  const char* const sum = sum_type(x.dtype);
  const char* const index = dialect_type(targets.dtype);

  std::vector<std::string> arguments = {dtype_struct(x.dtype)};
  if (kBackward) arguments.push_back(dtype_struct(g.dtype));
  arguments.push_back(index);
  if (kBackward) arguments.push_back(truth(has_loss));
  arguments.insert(arguments.end(), {std::to_string(split.held), axes.rank()});
  const StridedOperand logits = strided_operand(x, kLogits);
  const StridedOperand target = strided_operand(targets, kTargets), grad = strided_operand(g, 0);
  const StridedOperand loss = strided_operand(losses, has_loss ? kLosses : 0);
  KernelCall call("softmax/cross_entropy.metal",
                  kBackward ? "cross_entropy_backward_rows" : "cross_entropy_rows", arguments);
  if (kBackward) call.read(dialect_type(g.dtype), "g", grad.argument);
  call.read(type, "x", logits.argument).read(index, "targets", target.argument);
  if (kBackward) call.read(sum, "losses", loss.argument);
  call.write(kBackward ? type : sum, kBackward ? "dx" : "loss", output_argument(signature))
      .constants(
          CrossEntropyParams<kRuntimeRank>{.split = split.params(),
                                           .ignored = ParamReader(signature.statics).i64(),
                                           .target_base = target.base,
                                           .target_step = targets.strides[0],
                                           .grad_base = grad.base,
                                           .grad_step = g.strides[0],
                                           .loss_base = loss.base,
                                           .loss_step = losses.strides[0],
                                           .dx_step = kBackward ? signature.output.strides[0] : 0,
                                           .x = {logits.base, &axes.shape, &axes.strides[0]}})
      .threadgroup(sum, "shared", 64);
  plan->add_step(call.step(*plan, split.groups, split.threads, kMaxLossLanes));
  return prepared_steps(std::move(plan));
}

template <bool kBackward>
bool loss_accepts(const Signature& signature) {
  return fits_rows(signature.inputs[kBackward ? 1 : 0].shape);
}

}  // namespace

bool accepts_cross_entropy(const Signature& signature) { return loss_accepts<false>(signature); }
Prepared prepare_cross_entropy(const Signature& signature) {
  return prepare_rows<false>(signature);
}
bool accepts_cross_entropy_backward(const Signature& signature) {
  return loss_accepts<true>(signature);
}
Prepared prepare_cross_entropy_backward(const Signature& signature) {
  return prepare_rows<true>(signature);
}

}  // namespace hearth::gpu
