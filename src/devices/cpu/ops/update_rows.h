// Updates by index along a last axis: scatter's own indices for each line, or select's one list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/ops/elements.h"
#include "devices/cpu/ops/updates.h"

namespace hearth::cpu {

// Elements of a line that are taken at a time.
inline constexpr std::int64_t kUpdatedPiece = 16384;

// Updates the output along its last axis, line after line: by the elements of `values` within
// `shape`, at the indices that have these strides over it. An index outside the line is not
// written. Halves are combined in f32 and rounded once.
template <class E, class Rule>
void update_rows(const Operand& indices, const Shape& shape, const Strides& index_strides,
                 const Operand& values, const Operand& output) {
  const int axis = shape.rank() - 1;
  constexpr bool kHalf = std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>;
  using Sum = std::conditional_t<kHalf, float, E>;
  const std::int64_t extent = output.shape()[axis];
  const std::int64_t n = shape[axis], value_step = values.stride(axis);
  const OffsetMap index_rows(shape, index_strides, 0, axis);
  const OffsetMap value_rows(shape, values.strides(), 0, axis);
  const OffsetMap out_rows(shape, output.strides(), 0, axis);
  for_chunks(index_rows.count(), 4 * n, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t row = first; row < end; ++row) {
      E* const out = reinterpret_cast<E*>(output.data) + out_rows.at(row);
      Sum* sums;
      if constexpr (kHalf) {
        sums = scratch<float>(1, extent);
        load_row(output.dtype(), out, 1, extent, sums);
      } else {
        sums = out;
      }
      for (std::int64_t begin = 0; begin < n; begin += kUpdatedPiece) {
        const std::int64_t count = std::min(kUpdatedPiece, n - begin);
        const std::int64_t index_step = index_strides[axis];
        const std::int64_t index_begin = index_rows.at(row) + begin * index_step;
        const Address from = values.at(value_rows.at(row) + begin * value_step);
        const auto add_at = [=](const Sum* each, std::int64_t step, const std::int64_t* targets,
                                std::int64_t target_step) {
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t target = targets[i * target_step];
            if (inside(target, extent)) Rule::apply(sums[target], each[i * step]);
          }
        };
        const auto add_all = [&](const Sum* each, std::int64_t step) {
          if (indices.dtype() == DType::i64) {
            const Address at = indices.at(index_begin);
            return add_at(each, step, reinterpret_cast<const std::int64_t*>(at), index_step);
          }
          std::int64_t* const targets = scratch<std::int64_t>(0, std::min(n, kUpdatedPiece));
          load_indices(indices, index_begin, index_step, count, targets);
          add_at(each, step, targets, 1);
        };
        if constexpr (kHalf) {
          float* const each = scratch<float>(2, std::min(n, kUpdatedPiece));
          load_row(values.dtype(), from, value_step, count, each);
          add_all(each, 1);
        } else {
          add_all(reinterpret_cast<const E*>(from), value_step);
        }
      }
      if constexpr (kHalf) store_row(output.dtype(), sums, extent, out);
    }
  });
}

}  // namespace hearth::cpu
