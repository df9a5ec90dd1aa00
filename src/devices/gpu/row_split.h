// How the threads of a row kernel share its rows: the host side of kernels/rows.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/gpu/step_plan.h"

namespace hearth::gpu {

// Packets of 16 bytes that a thread holds of a row.
inline constexpr int kHeldPackets = 4;

struct RowSplit {
  std::int64_t rows = 0, length = 0;
  std::int64_t lanes = 1;  // threads of a row
  bool whole = true;       // they hold all of it
  bool shifted = false;
  Size3 groups, threads;

  // The words of RowSplit in kernels/rows.h.
  void append_words(std::vector<std::int64_t>* words) const;
};
// Rows of `length` elements, each for at most `most_lanes` threads.
RowSplit split_rows(std::int64_t rows, std::int64_t length, DType dtype, std::int64_t most_lanes);

// The extents that row kernels take: positions in a row, and rows, have 32 bits.
bool fits_rows(const Shape& shape);

// The rows of some operands: their shape without the last axis, and the strides of each, merged.
struct RowAxes {
  RowAxes(const Shape& shape, std::vector<const TensorSpec*> operands);
  Shape shape;
  std::vector<Strides> strides;
  std::string rank() const { return std::to_string(shape.rank()); }
};

}  // namespace hearth::gpu
