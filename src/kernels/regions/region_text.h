// Elementwise regions as kernels: a Region and its layout in, kernel text out.
//
// The text depends on the structure of the region only: ops, dtypes, which operands have the same
// layout, the class and the number of axes, the width of vectors and of positions. Extents, strides
// and the places of scalars are constants of the launch, the values of scalars come from the
// dynamic block: regions of one structure share one compiled kernel.
#pragma once

#include <cstdint>

#include "kernels/regions/region_access.h"

namespace hearth::gpu {

// The widest vector, in elements, that the region's layout allows.
int map_width(const Region& region, const RegionLayout& layout, const RegionValues& values);

// The kernel that computes the region's outputs with vectors of `width` elements; `aliased` has a
// bit for each operand that shares memory with another one. The region has at least one element.
BuiltKernel map_kernel(const Region& region, const RegionLayout& layout, const RegionValues& values,
                       int width, std::uint64_t aliased);

}  // namespace hearth::gpu
