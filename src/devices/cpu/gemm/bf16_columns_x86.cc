// Products of a few rows with columns of bf16, in pairs, for x86 processors with AVX512-BF16.
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/order.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/gemm/skinny_columns.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HEARTH_BF16_COLUMNS 1
#if !defined(__clang__)
// The intrinsics start from a register that is never set.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <type_traits>

#include "devices/cpu/unroll.h"

#define HEARTH_PAIRS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#endif

namespace hearth::cpu {

#if defined(HEARTH_BF16_COLUMNS)
namespace {

constexpr std::int64_t kWords = 2 * kSumClasses;  // values in a vector: a pair of each class

HEARTH_PAIRS inline __m512bh load_pairs(const bfloat16* from) {
  return (__m512bh)_mm512_loadu_si512(from);
}

// Sums by class of row i of x times column c of B, of k values, go to sums + i * row_step +
// c * kSumClasses. A column has `left` values from b on.
template <int MR, int NC>
HEARTH_PAIRS void sum_pairs(std::int64_t k, std::int64_t left, const bfloat16* x,
                            std::int64_t x_stride, const bfloat16* b, std::int64_t stride,
                            float* sums, std::int64_t row_step) {
  __m512 sum[MR][NC];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) sum[i][c] = _mm512_setzero_ps();
  }
  // How far ahead of what is read memory is asked for; behind the end lie the next columns.
  const std::int64_t ahead = NC == 1 ? 6144 : std::min<std::int64_t>(1024, left);
  const std::int64_t ends = NC == 1 ? k : left - ahead;
  std::int64_t p = 0;
  for (; p + kWords <= k; p += kWords) {
    const bfloat16* const coming = b + p + ahead + (p < ends ? 0 : NC * stride - left);
    __m512bh column[NC];
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      _mm_prefetch(reinterpret_cast<const char*>(coming + c * stride), _MM_HINT_T0);
      column[c] = load_pairs(b + c * stride + p);
    }
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      __m512bh row = load_pairs(x + i * x_stride + p);
#if !defined(__clang__)
      asm("" : "+v"(row));  // it would be loaded again for every column
#endif
      HEARTH_UNROLL
      for (int c = 0; c < NC; ++c) sum[i][c] = _mm512_dpbf16_ps(sum[i][c], row, column[c]);
    }
  }
  if (p < k) {
    const auto values = static_cast<__mmask32>((1u << (k - p)) - 1);
    const auto pairs = static_cast<__mmask16>((1u << ((k - p + 1) / 2)) - 1);
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      const auto row = (__m512bh)_mm512_maskz_loadu_epi16(values, x + i * x_stride + p);
      HEARTH_UNROLL
      for (int c = 0; c < NC; ++c) {
        const auto column = (__m512bh)_mm512_maskz_loadu_epi16(values, b + c * stride + p);
        // Not by the masked product, of whose mask GCC 12 takes eight bits.
        sum[i][c] = _mm512_mask_mov_ps(sum[i][c], pairs, _mm512_dpbf16_ps(sum[i][c], row, column));
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      _mm512_storeu_ps(sums + i * row_step + c * kSumClasses, sum[i][c]);
    }
  }
}

template <int NC>
void sum_pairs_of(std::int64_t m, std::int64_t k, std::int64_t left, const bfloat16* x,
                  std::int64_t x_stride, const bfloat16* b, std::int64_t stride, float* sums,
                  std::int64_t row_step) {
  const auto sum_some = [&]<int MR>(std::integral_constant<int, MR>) {
    for (; m >= MR; m -= MR) {
      sum_pairs<MR, NC>(k, left, x, x_stride, b, stride, sums, row_step);
      x += MR * x_stride;
      sums += MR * row_step;
    }
  };
  if (m != 8) sum_some(std::integral_constant<int, 6>());  // eight are twice four
  sum_some(std::integral_constant<int, 4>());
  sum_some(std::integral_constant<int, 2>());
  sum_some(std::integral_constant<int, 1>());
}

void multiply_columns(std::int64_t m, std::int64_t n, std::int64_t k, const bfloat16* x,
                      std::int64_t x_stride, const bfloat16* b, std::int64_t b_stride, float* y,
                      std::int64_t y_stride) {
  const auto sum = [=]<int NC>(std::integral_constant<int, NC>, std::int64_t rows,
                               std::int64_t values, std::int64_t left, const bfloat16* from,
                               const bfloat16* column, float* sums, std::int64_t step) {
    sum_pairs_of<NC>(rows, values, left, from, x_stride, column, b_stride, sums, step);
  };
  // Of one row memory is all the work, and fastest in one stream.
  multiply_skinny_columns<ColumnSteps<2, 1, 4>>(m, n, k, x, x_stride, b, b_stride, y, y_stride, sum,
                                                cpu_skinny().add_classes);
}

}  // namespace

SkinnyProduct<bfloat16, bfloat16, float> bf16_columns() {
  return bf16_gemm() != nullptr ? multiply_columns : nullptr;
}

#else

SkinnyProduct<bfloat16, bfloat16, float> bf16_columns() { return nullptr; }

#endif

}  // namespace hearth::cpu
