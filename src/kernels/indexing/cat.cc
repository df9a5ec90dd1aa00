// cat, and slice_assign of single elements: copies into parts of the output, each a region.
#include <memory>

#include "graph/params.h"
#include "kernels/indexing/indexing.h"
#include "kernels/launch/kernel_plan.h"
#include "kernels/regions/region_kernel.h"

namespace hearth::gpu {
namespace {

struct Copy {
  Prepared region;
  int from;             // operand
  std::int64_t offset;  // bytes from the output's first element
};

class CopiesPlan final : public KernelPlan {
 public:
  explicit CopiesPlan(const runtime::DeviceTraits& device) : device_(device) {}

  // Copies an input to `strides` elements of the output from element `offset` on.
  void add(const TensorSpec& input, int operand, const Strides& strides, std::int64_t offset) {
    Region region;
    region.shape = input.shape;
    region.inputs = {{input.dtype, input.strides}};
    region.outputs = {{input.dtype, 0, strides}};
    LoweredRegion lowered = lower(std::move(region));
    lowered.device = &device_;
    Copy copy{prepare_region(std::move(lowered)), operand, offset * size_of(input.dtype)};
    const auto& plan = *static_cast<const KernelPlan*>(copy.region.state.get());
    kernels.insert(kernels.end(), plan.kernels.begin(), plan.kernels.end());
    copies_.push_back(std::move(copy));
  }
  const std::vector<Copy>& copies() const noexcept { return copies_; }

 private:
  const runtime::DeviceTraits& device_;
  std::vector<Copy> copies_;
};

}  // namespace

void launch_copies(const Launch& launch) {
  for (const Copy& copy : plan_as<CopiesPlan>(launch).copies()) {
    const Address operands[] = {launch.operands[copy.from], launch.output() + copy.offset};
    Launch part = launch;
    part.state = copy.region.state.get();
    part.operands = operands;
    part.operand_count = 2;
    launch_region(part);
  }
}

Prepared prepare_cat(const Signature& signature) {
  auto plan = std::make_shared<CopiesPlan>(*signature.device);
  const auto axis = static_cast<int>(ParamReader(signature.statics).i64());
  const Strides& strides = signature.output.strides;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& input = signature.inputs[i];
    plan->add(input, static_cast<int>(i), strides, offset);
    offset += input.shape[axis] * strides[axis];
  }
  return prepared(std::move(plan));
}

bool accepts_single_element(const Signature& signature) {
  return signature.output.shape.rank() == 0;
}

Prepared prepare_single_element(const Signature& signature) {
  auto plan = std::make_shared<CopiesPlan>(*signature.device);
  plan->add(signature.inputs[1], 1, Strides(), 0);
  return prepared(std::move(plan));
}

}  // namespace hearth::gpu
