#include "devices/cpu/ops/updates/update_rows.h"

#include <algorithm>
#include <cstdint>

#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/row_math.h"

namespace hearth::cpu {
namespace {

// Elements of a line that are taken at a time.
constexpr std::int64_t kPiece = 16384;

}  // namespace

void update_rows(const UpdateLoops& loops, const Operand& indices, const Shape& shape,
                 const Strides& index_strides, const Operand& values, const Operand& output) {
  const int axis = shape.rank() - 1;
  const std::int64_t extent = output.shape()[axis], n = shape[axis];
  const std::int64_t index_step = index_strides[axis], value_step = values.stride(axis);
  const OffsetMap index_rows(shape, index_strides, 0, axis);
  const OffsetMap value_rows(shape, values.strides(), 0, axis);
  const OffsetMap out_rows(shape, output.strides(), 0, axis);
  // A piece of a line of values, of which element i is at values[i * step].
  const auto update = [&](std::byte* sums, std::int64_t index_begin, std::int64_t count,
                          const std::byte* from, std::int64_t step) {
    if (indices.dtype() == DType::i64) {
      const auto* const targets = reinterpret_cast<const std::int64_t*>(indices.at(index_begin));
      return loops.along(sums, extent, targets, index_step, from, step, count);
    }
    std::int64_t* const targets = scratch<std::int64_t>(0, std::min(n, kPiece));
    load_indices(indices, index_begin, index_step, count, targets);
    loops.along(sums, extent, targets, 1, from, step, count);
  };
  for_chunks(index_rows.count(), 4 * n, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      const Address out = output.at(out_rows.at(row));
      float* const sums = loops.widens ? scratch<float>(1, extent) : nullptr;
      if (loops.widens) load_row(output.dtype(), out, 1, extent, sums);
      for (std::int64_t begin = 0; begin < n; begin += kPiece) {
        const std::int64_t count = std::min(kPiece, n - begin);
        const std::int64_t index_begin = index_rows.at(row) + begin * index_step;
        const Address from = values.at(value_rows.at(row) + begin * value_step);
        if (loops.widens) {
          float* const each = scratch<float>(2, std::min(n, kPiece));
          load_row(values.dtype(), from, value_step, count, each);
          update(reinterpret_cast<std::byte*>(sums), index_begin, count,
                 reinterpret_cast<const std::byte*>(each), 1);
        } else {
          update(out, index_begin, count, from, value_step);
        }
      }
      if (loops.widens) store_row(output.dtype(), sums, extent, out);
    }
  });
}

}  // namespace hearth::cpu
