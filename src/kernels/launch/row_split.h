// How the threads of a row kernel share its rows: the host side of kernels/blocks/rows.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/launch/kernel_call.h"

namespace hearth::gpu {

struct RowSplit {
  std::int64_t rows = 0, length = 0;
  std::int64_t lanes = 1;  // threads of a row
  int held = 1;            // packets of 16 bytes that a thread holds of it at a time
  bool whole = true;       // they hold all of it
  bool shifted = false;
  Size3 groups, threads;

  RowSplitParams params() const;
};
// Rows of `length` elements, each for at most `most_lanes` threads that hold `held` packets.
RowSplit split_rows(std::int64_t rows, std::int64_t length, DType dtype, std::int64_t most_lanes,
                    int held);

// Rows that their threads read together where they can hold them: short rows in few packets a
// thread, for more threads; rows that do not fit in as many as leave a multiprocessor several rows.
RowSplit split_kept_rows(std::int64_t rows, std::int64_t length, DType dtype,
                         std::int64_t most_lanes);

// The same with no more packets a thread than a row needs that begins at a packet.
RowSplit split_tight_rows(std::int64_t rows, std::int64_t length, DType dtype,
                          std::int64_t most_lanes, int held);
// Whether rows with these strides consist of whole packets, and begin at packets where the lowest
// address does.
bool has_whole_packets(std::int64_t length, const Strides& strides, std::int64_t base, DType dtype);

// The lines along the last axis, of any length.
std::int64_t row_count(const Shape& shape);
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
