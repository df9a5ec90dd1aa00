// The index space of a region, simplified: which axes are left, and how operands lie over them.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/plan/region.h"

namespace hearth {

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

  std::int64_t first() const { return lowest + start; }  // where the first element lies
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

}  // namespace hearth
