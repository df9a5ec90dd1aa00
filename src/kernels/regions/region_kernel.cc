#include "kernels/regions/region_kernel.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "hearth/error.h"
#include "kernels/launch/kernel_plan.h"
#include "kernels/regions/reduction_text.h"
#include "kernels/regions/region_text.h"

namespace hearth::gpu {
namespace {

struct Stage {
  explicit Stage(BuiltKernel built_kernel) : built(std::move(built_kernel)), kernel(built.source) {}
  BuiltKernel built;
  runtime::LazyKernel kernel;
};

// The kernels for one width of vectors, and for one set of operands that share memory.
struct Variant {
  int width;
  std::uint64_t aliased;
  std::vector<std::unique_ptr<Stage>> stages;
};

class RegionPlan final : public KernelPlan {
 public:
  explicit RegionPlan(LoweredRegion lowered) : lowered_(std::move(lowered)), values_(lowered_) {
    const bool reduces = lowered_.region.reduction.op != nullptr;
    if ((reduces ? lowered_.layout.results : lowered_.layout.elements) == 0) return;
    width_ = reduces ? reduction_width(lowered_, values_) : map_width(lowered_, values_);
    const Variant& variant = variant_of(width_, 0);
    for (const auto& stage : variant.stages) kernels.push_back(&stage->kernel);
  }
  RegionPlan(const RegionPlan&) = delete;
  RegionPlan& operator=(const RegionPlan&) = delete;

  std::int64_t workspace_bytes() const { return workspace_bytes_; }

  void launch(const Launch& launch) const {
    if (variants_.empty()) return;
    const Variant& variant = variant_of(width_for(launch), aliased_operands(launch));
    for (const auto& stage : variant.stages) encode(*stage, launch);
  }

 private:
  const Variant& variant_of(int width, std::uint64_t aliased) const {
    const std::lock_guard lock(mutex_);
    for (const auto& variant : variants_) {
      if (variant->width == width && variant->aliased == aliased) return *variant;
    }
    auto variant = std::make_unique<Variant>();
    variant->width = width;
    variant->aliased = aliased;
    if (lowered_.region.reduction.op == nullptr) {
      variant->stages.push_back(
          std::make_unique<Stage>(map_kernel(lowered_, values_, width, aliased)));
    } else {
      BuiltReduction built = reduction_kernels(lowered_, values_, width, aliased);
      workspace_bytes_ = built.workspace_bytes;
      variant->stages.push_back(std::make_unique<Stage>(std::move(built.reduce)));
      if (built.combine) {
        variant->stages.push_back(std::make_unique<Stage>(std::move(*built.combine)));
      }
    }
    variants_.push_back(std::move(variant));
    return *variants_.back();
  }

  // The widest vectors that the addresses of this launch are aligned for.
  int width_for(const Launch& launch) const {
    int width = width_;
    const Variant& widest = *variants_.front();
    for (const OperandUse& use : widest.stages.front()->built.operands) {
      if (use.alignment == 1) continue;
      const auto address = reinterpret_cast<std::uintptr_t>(launch.operands[use.operand]) +
                           static_cast<std::uintptr_t>(use.offset);
      int alignment = use.alignment;
      int fits = width_;
      while (fits > 1 && address % static_cast<std::uintptr_t>(alignment) != 0) {
        alignment /= 2;
        fits /= 2;
      }
      width = std::min(width, fits);
    }
    return width;
  }

  // Compilers take parameters that only read, or only write, for memory of their own. One output
  // over an input is no harm: it depends on what was read there. With several, an input might be
  // read after the output that takes its place was written.
  std::uint64_t aliased_operands(const Launch& launch) const {
    const Region& region = lowered_.region;
    const std::size_t inputs = region.inputs.size();
    const std::size_t count = inputs + region.outputs.size();
    const bool several = region.outputs.size() > 1 || region.reduction.op != nullptr;
    std::uint64_t aliased = 0;
    if (!several) return aliased;
    for (std::size_t o = inputs; o < count; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        if (launch.operands[i] != launch.operands[o]) continue;
        aliased |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
        aliased |= std::uint64_t{1} << std::min<std::size_t>(o, 63);
      }
    }
    return aliased;
  }

  void encode(const Stage& stage, const Launch& launch) const {
    runtime::Encoder& encoder = *launch.encoder;
    const BuiltKernel& built = stage.built;
    if (built.has_f64 && !encoder.properties().has_f64) {
      throw Error(ErrorCode::unsupported, built.source.name + ": this device has no f64; got " +
                                              encoder.properties().name +
                                              ", expected another device or dtype; sums of f32 "
                                              "keep 48 bits where numerics ask for precise sums");
    }
    std::vector<runtime::Argument> arguments;
    arguments.reserve(built.operands.size() + 2);
    for (const OperandUse& use : built.operands) {
      const Address address =
          use.operand == kWorkspaceOperand ? launch.workspace : launch.operands[use.operand];
      arguments.push_back(runtime::memory(address + use.offset, use.bytes));
    }
    arguments.push_back(
        {nullptr, static_cast<std::int64_t>(built.constants.size()), built.constants.data()});
    if (built.dynamics) arguments.push_back(encoder.dynamics());
    encoder.dispatch(stage.kernel, built.groups, built.threads, arguments);
  }

  LoweredRegion lowered_;
  RegionValues values_;
  int width_ = 1;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Variant>> variants_;
  mutable std::int64_t workspace_bytes_ = 0;
};

}  // namespace

Prepared prepare_region(LoweredRegion lowered) {
  auto plan = std::make_shared<const RegionPlan>(std::move(lowered));
  const std::int64_t workspace_bytes = plan->workspace_bytes();
  return prepared(std::move(plan), workspace_bytes);
}

void launch_region(const Launch& launch) { plan_as<RegionPlan>(launch).launch(launch); }

}  // namespace hearth::gpu
