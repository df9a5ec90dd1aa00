#include "kernels/launch/row_split.h"

#include <algorithm>
#include <bit>

#include "codegen/dialect_types.h"
#include "graph/switches.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

// Threads of a threadgroup whose rows have a simdgroup or less.
constexpr std::int64_t kShortThreads = 128;

}  // namespace

RowSplitParams RowSplit::params() const {
  return {.rows = rows,
          .length = length,
          .lanes = lanes,
          .lane_bits = std::countr_zero(static_cast<std::uint64_t>(lanes)),
          .shifted = shifted ? 1 : 0};
}

RowSplit split_rows(std::int64_t rows, std::int64_t length, DType dtype, std::int64_t most_lanes,
                    int held) {
  const std::int64_t count = kPacketBytes / size_of(dtype);
  RowSplit split;
  split.rows = rows;
  split.length = length;
  split.held = held;
  // Where rows have bits of their own, packets follow the row, not the memory that it lies in.
  split.shifted = length % count != 0 && !switches().batch_invariant;
  // A row that begins inside a packet may touch one more.
  const std::int64_t packets =
      split.shifted ? (length + 2 * count - 2) / count : ceil_div(length, count);
  const std::int64_t wanted = ceil_div(packets, held);
  split.lanes = ceil_power_of_two(std::clamp<std::int64_t>(wanted, 1, most_lanes));
  split.whole = packets <= split.lanes * held;
  const std::int64_t threads =
      std::max(split.lanes > kSimdWidth ? kSimdWidth : kShortThreads, split.lanes);
  const std::int64_t together = threads / split.lanes;
  split.groups = {static_cast<std::uint32_t>(ceil_div(rows, together))};
  split.threads = {static_cast<std::uint32_t>(threads)};
  return split;
}

RowSplit split_kept_rows(std::int64_t rows, std::int64_t length, DType dtype,
                         std::int64_t most_lanes) {
  constexpr std::int64_t kShortBytes = 1024;
  const bool is_short = length * size_of(dtype) <= kShortBytes;
  const RowSplit split = split_rows(rows, length, dtype, most_lanes, is_short ? 2 : 4);
  if (split.whole || size_of(dtype) > 2) return split;
  return split_rows(rows, length, dtype, most_lanes, 2);
}

RowSplit split_tight_rows(std::int64_t rows, std::int64_t length, DType dtype,
                          std::int64_t most_lanes, int held) {
  RowSplit split = split_rows(rows, length, dtype, most_lanes, held);
  const std::int64_t count = kPacketBytes / size_of(dtype);
  const std::int64_t packets = ceil_div(length, count);
  const std::int64_t needed = (packets + split.lanes - 1) / split.lanes;
  if (needed > held) return split;
  split.whole = true;
  split.held = static_cast<int>(std::max<std::int64_t>(1, needed));
  return split;
}

bool has_whole_packets(std::int64_t length, const Strides& strides, std::int64_t base,
                       DType dtype) {
  const std::int64_t count = kPacketBytes / size_of(dtype);
  return length % count == 0 && base % count == 0 &&
         std::all_of(strides.begin(), strides.end(),
                     [count](std::int64_t stride) { return stride % count == 0; });
}

std::int64_t row_count(const Shape& shape) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return rows;
}

bool fits_rows(const Shape& shape) {
  if (shape.rank() == 0 || element_count(shape) == 0) return true;
  return shape.back() < kMaxRowLength &&
         element_count(shape) / shape.back() < (std::int64_t{1} << 31);
}

RowAxes::RowAxes(const Shape& whole, std::vector<const TensorSpec*> operands) : shape(whole) {
  shape.erase(shape.rank() - 1);
  std::vector<Strides*> all;
  for (const TensorSpec* operand : operands) {
    strides.push_back(operand->strides);
    strides.back().erase(strides.back().rank() - 1);
  }
  for (Strides& each : strides) all.push_back(&each);
  merge_kernel_axes(&shape, all);
}

}  // namespace hearth::gpu
