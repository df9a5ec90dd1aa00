// The index space of a region, simplified for a GPU: which axes are left, and how operands lie over
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/plan/region.h"

namespace hearth::gpu {

struct RegionAxis {
  std::int64_t extent;  // at least 2, or 0
  bool reduced;
  std::vector<std::int64_t> strides;  // of each operand, in elements
};

struct RegionOperand {
  DType dtype;
  // In elements: from the operand's address to the lowest element that is touched, from there to
  // the first one, and how many there are from the lowest to the highest: none in an empty space,
  // but for results.
  std::int64_t lowest = 0;
  std::int64_t start = 0;
  std::int64_t span = 1;
  bool single = false;  // one element for all of the index space
};

// Extents of 1 are gone, neighbouring axes are merged where all operands allow it, kept and reduced
// axes apart. Where no output fixes the order of the axes they follow the memory of the first input
// that varies.
struct RegionLayout {
  std::vector<RegionAxis> axes;         // outermost first
  std::vector<RegionOperand> operands;  // inputs, outputs, the reduction's result
  std::int64_t elements = 1;
  std::int64_t results = 1;  // elements of the kept axes
  bool wide = false;         // positions or offsets need 64 bits

  std::int64_t reduced_elements() const { return results == 0 ? 0 : elements / results; }
};

RegionLayout region_layout(const Region& region);

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
