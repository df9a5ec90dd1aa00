// argmax and argmin: reductions that keep an index with the value
// (kernels/reduce/arg_reduce.metal). With the values, these are taken from where the indices say,
// by the kernel of gather: one element a line.
#include <algorithm>
#include <memory>
#include <utility>

#include "graph/params.h"
#include "kernels/indexing/indexing.h"
#include "kernels/launch/step_plan.h"
#include "kernels/regions/region_kernel.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

Shape kept_shape(const Signature& signature) {
  Shape kept = signature.inputs[0].shape;
  kept[axis_of(signature)] = 1;
  return kept;
}

Prepared prepare_indices(const Signature& signature, const OpDef& op, DType dtype) {
  const TensorSpec& input = signature.inputs[0];
  const int axis = axis_of(signature);
  Region region;
  region.shape = input.shape;
  region.inputs = {{input.dtype, input.strides}};
  region.reduction = {&op, 0, 1u << axis, dtype, contiguous_strides(kept_shape(signature))};
  region.reduction.strides[axis] = 0;
  LoweredRegion lowered = lower(std::move(region));
  lowered.device = signature.device;
  return prepare_region(std::move(lowered));
}

Prepared prepare_arg(const Signature& signature) {
  return prepare_indices(signature, *signature.op, signature.output.dtype);
}

class WithIndicesPlan final : public KernelPlan {
 public:
  WithIndicesPlan(const Signature& signature, const OpDef& arg)
      : find_(prepare_indices(signature, arg, signature.output_at(kIndices).dtype)) {
    add(find_);
    if (signature.output.absent) return;
    const Shape kept = kept_shape(signature);
    const auto result = [&kept](DType dtype) {
      return TensorSpec{dtype, kept, contiguous_strides(kept), false};
    };
    const DType dtype = signature.inputs[0].dtype;
    axis_ = static_cast<std::uint64_t>(axis_of(signature));
    taking_.op = &defs::gather_op;
    taking_.statics = {&axis_, 1};
    taking_.inputs = {signature.inputs[0], result(signature.output_at(kIndices).dtype)};
    taking_.output = result(dtype);
    taking_.device = signature.device;
    take_ = prepare_gather(taking_);
    add(take_);
  }

  std::int64_t workspace_bytes() const {
    return std::max(find_.workspace_bytes, take_.workspace_bytes);
  }

  void launch(const Launch& launch) const {
    const Address operands[] = {launch.input(0), launch.output(kIndices), launch.output()};
    Launch part = launch;
    part.operands = operands;
    part.output_count = 1;
    part.signature = nullptr;
    part.operand_count = 2;
    part.state = find_.state.get();
    launch_region(part);
    if (taking_.op == nullptr) return;
    part.signature = &taking_;
    part.operand_count = 3;
    part.state = take_.state.get();
    launch_steps(part);
  }

 private:
  static constexpr int kIndices = 1;

  void add(const Prepared& part) {
    const auto& more = static_cast<const KernelPlan*>(part.state.get())->kernels;
    kernels.insert(kernels.end(), more.begin(), more.end());
  }

  Prepared find_, take_;
  Signature taking_;
  std::uint64_t axis_ = 0;  // what its statics name
};

template <bool kSmallest>
Prepared prepare_with_indices(const Signature& signature) {
  auto plan = std::make_shared<const WithIndicesPlan>(
      signature, kSmallest ? defs::argmin_op : defs::argmax_op);
  const std::int64_t bytes = plan->workspace_bytes();
  return prepared(std::move(plan), bytes);
}

void launch_with_indices(const Launch& launch) { plan_as<WithIndicesPlan>(launch).launch(launch); }

constexpr std::uint32_t kValues = 0b01;

constexpr Implementation kReduceFamily[] = {
    {.name = "region", .op = &defs::argmax_op, .prepare = prepare_arg, .launch = launch_region},
    {.name = "region", .op = &defs::argmin_op, .prepare = prepare_arg, .launch = launch_region},
    {.name = "region_and_gather",
     .op = &defs::max_with_indices_op,
     .prepare = prepare_with_indices<false>,
     .launch = launch_with_indices,
     .may_omit = kValues},
    {.name = "region_and_gather",
     .op = &defs::min_with_indices_op,
     .prepare = prepare_with_indices<true>,
     .launch = launch_with_indices,
     .may_omit = kValues},
};

}  // namespace

Family reduce_family() { return kReduceFamily; }

}  // namespace hearth::gpu
