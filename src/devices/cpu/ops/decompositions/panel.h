// Block columns of a matrix transposed, so that their columns lie in one piece: what goes over
// columns takes whole vectors, and reads no more than it needs.
#pragma once

#include "core/integer_math.h"
#include "devices/cpu/ops/decompositions/matrix_batch.h"

namespace hearth::cpu {

// Rows of n elements that are not a power of two apart: those would share few places of a cache.
inline std::int64_t spread_rows(std::int64_t n) {
  const std::int64_t stride = round_up(n, 16);
  return stride % 64 == 0 ? stride + 16 : stride;
}

// to [cols, rows], `to_stride` apart, from x [rows, cols].
template <class T>
void transpose(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t cols, T* to,
               std::int64_t to_stride) {
  constexpr std::int64_t kTogether = 16;
  const RowMath<T>& math = row_math<T>();
  std::int64_t r = 0;
  for (; r + kTogether <= rows; r += kTogether) {
    const T* each[kTogether];
    for (std::int64_t k = 0; k < kTogether; ++k) each[k] = x + (r + k) * stride;
    math.transpose16(each, cols, to + r, to_stride);
  }
  for (; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) to[c * to_stride + r] = x[r * stride + c];
  }
}

}  // namespace hearth::cpu
