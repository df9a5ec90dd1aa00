// cross_entropy and its gradient: kernels/softmax/cross_entropy.metal.
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/row_split.h"
#include "kernels/regions/region_values.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostLanes = 512;

// Where a vector of the signature begins, and its step.
void append_vector(const TensorSpec& spec, std::vector<std::int64_t>* words) {
  words->insert(words->end(), {strided_operand(spec, 0).base, spec.strides[0]});
}

template <bool kBackward>
Prepared prepare_cross_entropy(const Signature& signature) {
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
  const RowSplit split = split_kept_rows(x.shape[0], x.shape[1], x.dtype, kMostLanes);
  const char* const type = dialect_type(x.dtype);
  const char* const sum = sum_type(x.dtype);
  const char* const index = dialect_type(targets.dtype);

  std::vector<std::string> arguments = {dtype_struct(x.dtype)};
  std::vector<KernelParameter> parameters;
  if (kBackward) {
    arguments.push_back(dtype_struct(g.dtype));
    parameters.push_back({Kind::read, dialect_type(g.dtype), "g"});
  }
  arguments.push_back(index);
  parameters.push_back({Kind::read, type, "x"});
  parameters.push_back({Kind::read, index, "targets"});
  if (kBackward) {
    arguments.push_back(truth(has_loss));
    parameters.push_back({Kind::read, sum, "losses"});
  }
  arguments.insert(arguments.end(), {std::to_string(split.held), axes.rank()});
  parameters.push_back({Kind::write, kBackward ? type : sum, kBackward ? "dx" : "loss"});
  parameters.push_back({Kind::constant, "CrossEntropyParams<" + axes.rank() + ">", "p"});
  parameters.push_back({Kind::threadgroup, sum, "shared", 64});

  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("softmax/cross_entropy.metal",
                     kBackward ? "cross_entropy_backward_rows" : "cross_entropy_rows", arguments,
                     std::move(parameters), kMostLanes));
  step.groups = split.groups;
  step.threads = split.threads;
  const StridedOperand logits = strided_operand(x, kLogits);
  split.append_words(&step.constants);
  step.constants.push_back(ParamReader(signature.statics).i64());
  for (const TensorSpec* vector : {&targets, &g, &losses}) {
    append_vector(*vector, &step.constants);
  }
  step.constants.push_back(kBackward ? signature.output.strides[0] : 0);
  append_axes(axes.shape, axes.strides[0], logits.base, &step.constants);
  if (kBackward) step.arguments.push_back(strided_operand(g, 0).argument);
  step.arguments.push_back(logits.argument);
  step.arguments.push_back(strided_operand(targets, kTargets).argument);
  if (kBackward) {
    step.arguments.push_back(strided_operand(losses, has_loss ? kLosses : 0).argument);
  }
  const int output = static_cast<int>(signature.inputs.size());
  step.arguments.push_back(strided_operand(signature.output, output).argument);
  step.arguments.push_back(kConstants);
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

template <bool kBackward>
bool accepts(const Signature& signature) {
  return fits_rows(signature.inputs[kBackward ? 1 : 0].shape);
}

}  // namespace

void add_cross_entropy_kernels(KernelTable& table) {
  table.add({.op = &defs::cross_entropy_op,
             .accepts = accepts<false>,
             .layout = LayoutNeed::last_axis_dense,
             .prepare = prepare_cross_entropy<false>,
             .launch = launch_steps});
  table.add({.op = &defs::cross_entropy_backward_op,
             .accepts = accepts<true>,
             .layout = LayoutNeed::last_axis_dense,
             .prepare = prepare_cross_entropy<true>,
             .launch = launch_steps,
             .writes_padded = true});
}

}  // namespace hearth::gpu
