// Regions that end in a reduction as kernels, one or two: where there is much to reduce for few
// results, threadgroups leave partial results in the workspace, and a second kernel combines them.
//
//   rows      the innermost axis is reduced: threads share a row
//   columns   the innermost axis is kept: threads have columns of their own, side by side
//
// Which threads combine what follows from extents, alignment and how many threads the device runs:
// results are the same in every run on it, and may differ in their last bits on another.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/regions/region_access.h"

namespace hearth::gpu {

struct BuiltReduction {
  BuiltKernel reduce;
  std::optional<BuiltKernel> combine;
  std::int64_t workspace_bytes = 0;
};

// An operand of BuiltKernel that is the workspace.
inline constexpr int kWorkspaceOperand = -1;

// The widest vector, in elements, that the region's layout allows.
int reduction_width(const LoweredRegion& lowered, const RegionValues& values);

// The kernels of the region with vectors of `width` elements; workspace_bytes does not depend on
// it. The region has at least one result.
BuiltReduction reduction_kernels(const LoweredRegion& lowered, const RegionValues& values,
                                 int width, std::uint64_t aliased);

}  // namespace hearth::gpu
