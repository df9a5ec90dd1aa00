// Merging the axes of an index space.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "hearth/shape.h"

namespace hearth {

// Puts an axis inside the `rank` that there are: one of extent 1 is dropped, and one that every
// operand steps over as over one with the last is merged with it, if it `may_join`. `at(k, axis)`
// is operand k's stride over an axis that is there, `step(k)` that over the new one. Returns the
// rank.
template <class Extents, class At, class Step>
int append_axis(Extents& extents, int rank, std::int64_t extent, int operands, const At& at,
                const Step& step, bool may_join = true) {
  if (extent == 1) return rank;
  bool joins = rank > 0 && may_join;
  for (int k = 0; k < operands; ++k) joins = joins && at(k, rank - 1) == extent * step(k);
  if (joins) {
    extents[rank - 1] *= extent;
  } else {
    extents[rank++] = extent;
  }
  for (int k = 0; k < operands; ++k) at(k, rank - 1) = step(k);
  return rank;
}

// Drops axes of extent 1, and merges neighbouring axes that every operand steps over as over one;
// of a single element no axis is left. `operands` are strides over `shape`. Axes that differ in
// `marks` (bit i = axis i, before and after) are never merged.
inline void merge_axes(Shape* shape, std::span<Strides* const> operands,
                       std::uint32_t* marks = nullptr) {
  const std::uint32_t given = marks == nullptr ? 0 : *marks;
  std::uint32_t kept_marks = 0;
  int kept = 0;
  for (int axis = 0; axis < shape->rank(); ++axis) {
    const std::uint32_t mark = given >> axis & 1u;
    const auto stride = [&](int k, int i) -> std::int64_t& {
      return (*operands[static_cast<std::size_t>(k)])[i];
    };
    const int before = kept;
    kept = append_axis(
        *shape, kept, (*shape)[axis], static_cast<int>(operands.size()), stride,
        [&](int k) { return stride(k, axis); },
        kept > 0 && (kept_marks >> (kept - 1) & 1u) == mark);
    if (kept > before) kept_marks |= mark << before;
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
    rank = append_axis(
        extents, rank, extent, kOperands,
        [&](int k, int axis) -> std::int64_t& { return strides[axis][k]; },
        [&](int k) { return steps[k]; });
  }
};

}  // namespace hearth
