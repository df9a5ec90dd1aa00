// Regions of all shapes of kernels, for the tests of texts.
#pragma once

#include <vector>

#include "devices/region_fixture.h"
#include "kernels/regions/region_text.h"

namespace hearth::gpu_test {

// a s + b, its exponential, and whether that is larger than b. `dynamic` is the place of s.
Region chain(DType dtype, const Shape& shape, const Strides& a, const Strides& b, int dynamic = 0);
// Of squares.
Region sum(DType dtype, const Shape& shape, std::uint32_t axes, const Strides& result);
// Of the input itself.
Region plain(const OpDef& op, DType dtype, const Shape& shape, std::uint32_t axes,
             const Strides& result);
// The argmax along an axis.
Region place_of_largest(DType dtype, const Shape& shape, int axis, const Strides& result);

// One, or a reduction's two; `wide`: with 64 bits for positions whatever the shape.
std::vector<gpu::BuiltKernel> kernels_of(const Region& region, bool wide = false);

// Kernels of every layout and way of reducing.
std::vector<gpu::BuiltKernel> region_samples();

}  // namespace hearth::gpu_test
