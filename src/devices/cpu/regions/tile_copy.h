// Copies between layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/implementation.h"
#include "graph/lower/lowered_region.h"

namespace hearth::cpu {

struct CopyPlan {
  struct Axis {
    std::int64_t extent, from, to;  // strides in bytes
  };
  std::vector<Axis> outer;
  Axis inner{1, 0, 0};   // along which the target is dense
  Axis across{1, 0, 0};  // transposing: along which the source is dense
  bool transposes = false;
  bool streams = false;
  bool fills = false;     // the source is one element
  std::int64_t size = 1;  // bytes of an element
  std::int64_t bytes = 0;
};

// Whether the region is a mere copy of one input, or of its first scalar, to one output of its
// dtype; then `plan` is set.
bool plan_copy(const LoweredRegion& lowered, CopyPlan* plan);
// For elements of `size` bytes between arrays of one shape, strides in elements.
CopyPlan plan_copy(const Shape& shape, const Strides& from, const Strides& to, std::int64_t size);
void launch_copy(const CopyPlan& plan, const std::byte* from, std::byte* to);

// For what copies to several places by itself: how many rows there are, in the order of the shape;
// 0 where the copy transposes. Then rows [begin, end).
std::int64_t rows_of(const CopyPlan& plan);
void copy_some_rows(const CopyPlan& plan, std::int64_t begin, std::int64_t end,
                    const std::byte* from, std::byte* to);

}  // namespace hearth::cpu
