// Distances of rows to packed columns.
#pragma once

#include <cstdint>

namespace hearth::cpu {

// What is summed of differences.
enum class DistanceSum : std::uint8_t { squares, magnitudes, largest };

inline constexpr int kDistanceRows = 6;

template <class T>
struct RowDistances {
  std::int64_t columns;  // of a panel: two vectors of the CPU
  // Joins to totals[kDistanceRows][columns] the sums over `length` of the differences of rows[i]
  // and the panel [length][columns].
  void (*join)(DistanceSum sum, const T* const* rows, const T* panel, std::int64_t length,
               T* totals);
  // Of products x . y with one x, distances from the squares of lengths: -1 where the square of
  // the distance is not more than `near` times the sum of those, or is no number. Returns whether
  // there are such.
  bool (*from_products)(T square, const T* squares, T near, std::int64_t n, T* products);
};

template <class T>
const RowDistances<T>& row_distances();

}  // namespace hearth::cpu
