// Slices as users write them, made concrete.
#pragma once

#include <vector>

#include "hearth/ops.h"

namespace hearth {

// For each axis of an array: element i of the region is starts + i * steps.
struct SliceRegion {
  Dims starts;
  Shape sizes;
  Dims steps;
};

// Follows the rules at Slice; axes without one are whole. Throws Error{shape} for more slices than
// axes and Error{invalid_argument} for a step of 0, with `op` in front.
SliceRegion resolve_slices(const char* op, const Shape& shape, const std::vector<Slice>& slices);

}  // namespace hearth
