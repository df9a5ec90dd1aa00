// How GPU kernels walk the index space of a region: in vectors, along one axis or in tiles.
#pragma once

#include <cstdint>

#include "graph/lower/layout.h"

namespace hearth::gpu {

// How many axes a kernel sees, and how operands lie along the innermost of them.
//   linear   every operand is dense, or single; no divisions
//   vector   along the innermost axis every operand has stride 1 or 0, and vectors of `width`
//            elements never cross its end nor lose their alignment
//   strided  anything; `width` is 1
enum class RegionClass : std::uint8_t { linear, vector, strided };

// The largest power of two up to `limit` that the layout allows as vector width, looking at the
// operands [0, count): 1 if there is none. `ragged` allows an innermost extent that is no multiple.
int vector_width(const RegionLayout& layout, int count, int limit, bool ragged);
RegionClass classify(const RegionLayout& layout, int count, int width);

// Of a layout in which some of the operands [0, count) are not contiguous along the innermost axis:
// the axis along which all of those are, where a kernel can turn them in tiles; else -1.
int tiled_axis(const RegionLayout& layout, int count);
// True where an operand is read through tiles, given the tiled axis.
bool is_tiled(const RegionLayout& layout, int axis, int operand);
// The vector width of a tiled layout, along both axes.
int tiled_width(const RegionLayout& layout, int axis, int count, int limit);

}  // namespace hearth::gpu
