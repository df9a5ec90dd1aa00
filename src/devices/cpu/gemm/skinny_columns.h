// The walk over a B with contiguous columns that products of a few rows share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/gemm/order.h"

namespace hearth::cpu {

// How a target sums: words of `kWord` values of k, and columns that are summed together, those of
// one row in `kAlone`, those of several in `kTogether`.
template <std::int64_t kWord, int kAlone, int kTogether>
struct ColumnSteps {
  static constexpr std::int64_t word = kWord;
  static constexpr int alone = kAlone, together = kTogether;
};

// SkinnyProduct of B by columns, whose sums are by class, see order.h.
// `sum(std::integral_constant<int, NC>, rows, k, left, x, b, sums, step)` writes the sums by class
// of some rows, from x on, times NC columns of k values, from b on, to sums + row * step +
// column * kSumClasses; a column has `left` values from b on. `add_classes` is that of CpuSkinny.
template <class Steps, class X, class S, class T, class Sum, class AddClasses>
void multiply_skinny_columns(std::int64_t m, std::int64_t n, std::int64_t k, const X* x,
                             std::int64_t x_stride, const S* b, std::int64_t b_stride, T* y,
                             std::int64_t y_stride, const Sum& sum, AddClasses add_classes) {
  constexpr std::int64_t kColumns = 16, kStep = kColumns * kSumClasses;
  constexpr std::int64_t kLines = 12;  // of sums: rows, times blocks of k
  constexpr std::int64_t kBlock = Steps::word * kBlockWords;
  alignas(kSumClasses * sizeof(T)) T sums[kLines * kStep];
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t count = std::min(kColumns, n - j);
    for (std::int64_t i = 0; i < m; i += kLines) {
      const std::int64_t rows = std::min(kLines, m - i), most = kLines / rows * kBlock;
      for (std::int64_t first = 0; first < k; first += most) {
        const std::int64_t end = std::min(first + most, k);
        const auto sum_some = [&]<int NC>(std::integral_constant<int, NC> some, std::int64_t c) {
          const S* const column = b + (j + c) * b_stride;
          T* to = sums + c * kSumClasses;
          for (std::int64_t p = first; p < end; p += kBlock, to += rows * kStep) {
            sum(some, rows, std::min(kBlock, end - p), k - p, x + i * x_stride + p, column + p, to,
                kStep);
          }
        };
        std::int64_t c = 0;
        for (; m == 1 && c + Steps::alone <= count; c += Steps::alone) {
          sum_some(std::integral_constant<int, Steps::alone>(), c);
        }
        for (; c + Steps::together <= count; c += Steps::together) {
          sum_some(std::integral_constant<int, Steps::together>(), c);
        }
        for (; c < count; ++c) sum_some(std::integral_constant<int, 1>(), c);
        const T* line = sums;
        for (std::int64_t p = first; p < end; p += kBlock) {
          for (std::int64_t r = 0; r < rows; ++r, line += kStep) {
            add_classes(line, count, y + (i + r) * y_stride + j);
          }
        }
      }
    }
  }
}

}  // namespace hearth::cpu
