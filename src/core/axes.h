// Merging the axes of an index space.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "hearth/shape.h"

namespace hearth {

// Drops axes of extent 1, and merges neighbouring axes that every operand steps over as over one;
// of a single element no axis is left. `operands` are strides over `shape`. Axes that differ in
// `marks` (bit i = axis i, before and after) are never merged.
inline void merge_axes(Shape* shape, std::span<Strides* const> operands,
                       std::uint32_t* marks = nullptr) {
  const std::uint32_t given = marks == nullptr ? 0 : *marks;
  std::uint32_t kept_marks = 0;
  int kept = 0;
  for (int axis = 0; axis < shape->rank(); ++axis) {
    const std::int64_t extent = (*shape)[axis];
    if (extent == 1) continue;
    const std::uint32_t mark = given >> axis & 1u;
    bool joins = kept > 0 && (kept_marks >> (kept - 1) & 1u) == mark;
    for (const Strides* each : operands) {
      joins = joins && (*each)[kept - 1] == extent * (*each)[axis];
    }
    if (joins) {
      (*shape)[kept - 1] *= extent;
    } else {
      (*shape)[kept] = extent;
      kept_marks |= mark << kept++;
    }
    for (Strides* each : operands) (*each)[kept - 1] = (*each)[axis];
  }
  while (shape->rank() > kept) shape->erase(shape->rank() - 1);
  for (Strides* each : operands) {
    while (each->rank() > kept) each->erase(each->rank() - 1);
  }
  if (marks != nullptr) *marks = kept_marks;
}
inline void merge_axes(Shape* shape, std::initializer_list<Strides*> operands) {
  merge_axes(shape, std::span<Strides* const>(operands.begin(), operands.size()));
}

// The same for a fixed number of operands, axis by axis: for what merges at every launch.
template <int kOperands>
struct MergedAxes {
  int rank = 0;
  std::int64_t extents[kMaxRank];
  std::array<std::int64_t, kOperands> strides[kMaxRank];

  // Puts an axis inside the others.
  void append(std::int64_t extent, const std::array<std::int64_t, kOperands>& steps) {
    if (extent == 1) return;
    bool joins = rank > 0;
    for (int k = 0; k < kOperands; ++k) {
      joins = joins && strides[rank - 1][k] == extent * steps[k];
    }
    if (joins) {
      extents[rank - 1] *= extent;
    } else {
      extents[rank++] = extent;
    }
    strides[rank - 1] = steps;
  }
};

}  // namespace hearth
