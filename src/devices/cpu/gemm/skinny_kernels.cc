// Products of a few rows with a matrix, once for every SIMD target. The matrix is read once, in the
// order in which it lies in memory.
#include <algorithm>
#include <cmath>

#include "devices/cpu/gemm/skinny.h"

// The baseline, AVX2 and AVX3 or NEON: what lies between is rare and would cost build time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/gemm/skinny_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "devices/cpu/gemm/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::ScalableTag<T>;

// y += x[0] * row 0 + ... + x[U - 1] * row U - 1, in this order.
template <int U, class S, class T>
void add_rows(std::int64_t n, const T* x, const S* b, std::int64_t stride, T* HWY_RESTRICT y) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V factor[U];
  HEARTH_UNROLL
  for (int u = 0; u < U; ++u) factor[u] = hn::Set(d, x[u]);
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    V sum = hn::LoadU(d, y + j);
    HEARTH_UNROLL
    for (int u = 0; u < U; ++u) sum = hn::MulAdd(factor[u], load_as(d, b + u * stride + j), sum);
    hn::StoreU(sum, d, y + j);
  }
  for (; j < n; ++j) {
    for (int u = 0; u < U; ++u) y[j] = std::fma(x[u], static_cast<T>(b[u * stride + j]), y[j]);
  }
}

// The same for M rows of x at once, for which a row of B is converted once.
template <int M, int U, class S, class T>
void add_rows_to(std::int64_t n, const T* x, std::int64_t x_stride, const S* b, std::int64_t stride,
                 T* HWY_RESTRICT y, std::int64_t y_stride) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    V sum[M];
    HEARTH_UNROLL
    for (int i = 0; i < M; ++i) sum[i] = hn::LoadU(d, y + i * y_stride + j);
    HEARTH_UNROLL
    for (int u = 0; u < U; ++u) {
      const V row = load_as(d, b + u * stride + j);
      HEARTH_UNROLL
      for (int i = 0; i < M; ++i) {
        sum[i] = hn::MulAdd(hn::Set(d, x[i * x_stride + u]), row, sum[i]);
      }
    }
    HEARTH_UNROLL
    for (int i = 0; i < M; ++i) hn::StoreU(sum[i], d, y + i * y_stride + j);
  }
  for (; j < n; ++j) {
    for (int i = 0; i < M; ++i) {
      T& to = y[i * y_stride + j];
      for (int u = 0; u < U; ++u) {
        to = std::fma(x[i * x_stride + u], static_cast<T>(b[u * stride + j]), to);
      }
    }
  }
}

template <class S, class T>
void rows(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, std::int64_t x_stride,
          const S* b, std::int64_t b_row_stride, T* y, std::int64_t y_stride) {
  constexpr int kRows = 8, kTogether = 4;
  std::int64_t p = 0;
  for (; p + kRows <= k; p += kRows) {
    const S* const block = b + p * b_row_stride;
    std::int64_t i = 0;
    for (; i + kTogether <= m; i += kTogether) {
      add_rows_to<kTogether, kRows>(n, x + i * x_stride + p, x_stride, block, b_row_stride,
                                    y + i * y_stride, y_stride);
    }
    for (; i < m; ++i) {
      add_rows<kRows>(n, x + i * x_stride + p, block, b_row_stride, y + i * y_stride);
    }
  }
  for (; p < k; ++p) {
    for (std::int64_t i = 0; i < m; ++i) {
      add_rows<1>(n, x + i * x_stride + p, b + p * b_row_stride, b_row_stride, y + i * y_stride);
    }
  }
}

// How far ahead of what is read, in bytes, memory is asked for: of one column, whose next ones
// mostly follow it, and of each of several.
inline constexpr std::int64_t kColumnAhead = 12288, kColumnsAhead = 2048;

// y[i][j] += row i of x times column j of B, for MR rows and NC columns. How many columns are taken
// together does not change a sum.
template <int MR, int NC, class S, class T>
void dot_columns(std::int64_t k, const T* x, std::int64_t x_stride, const S* b, std::int64_t stride,
                 T* y, std::int64_t y_stride) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr int kParts = MR == 1 ? 4 : 1;
  V sum[MR][NC][kParts];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      HEARTH_UNROLL
      for (int u = 0; u < kParts; ++u) sum[i][c][u] = hn::Zero(d);
    }
  }
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(S));
  const std::int64_t ahead = std::min(k, kColumnsAhead / kSize);
  std::int64_t p = 0;
  for (; p + kParts * lanes <= k; p += kParts * lanes) {
    const S* coming = b + p + kColumnAhead / kSize;
    // Behind the end of several columns lie the next ones.
    if (NC > 1) coming = b + p + ahead + (p + ahead < k ? 0 : NC * stride - k);
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      for (std::int64_t q = 0; q < kParts * lanes; q += 64 / kSize) {
        hwy::Prefetch(coming + c * stride + q);
      }
    }
    HEARTH_UNROLL
    for (int u = 0; u < kParts; ++u) {
      V column[NC];
      HEARTH_UNROLL
      for (int c = 0; c < NC; ++c) column[c] = load_as(d, b + c * stride + p + u * lanes);
      HEARTH_UNROLL
      for (int i = 0; i < MR; ++i) {
        const V row = hn::LoadU(d, x + i * x_stride + p + u * lanes);
        HEARTH_UNROLL
        for (int c = 0; c < NC; ++c) sum[i][c][u] = hn::MulAdd(row, column[c], sum[i][c][u]);
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      V all = sum[i][c][0];
      if constexpr (kParts == 4) {
        all = hn::Add(hn::Add(all, sum[i][c][1]), hn::Add(sum[i][c][2], sum[i][c][3]));
      }
      T total = hn::GetLane(hn::SumOfLanes(d, all));
      for (std::int64_t q = p; q < k; ++q) {
        total = std::fma(x[i * x_stride + q], static_cast<T>(b[c * stride + q]), total);
      }
      y[i * y_stride + c] += total;
    }
  }
}

template <int NC, class S, class T>
void dot_rows(std::int64_t m, std::int64_t k, const T* x, std::int64_t x_stride, const S* b,
              std::int64_t stride, T* y, std::int64_t y_stride) {
  for (; m >= 4; m -= 4) {
    dot_columns<4, NC>(k, x, x_stride, b, stride, y, y_stride);
    x += 4 * x_stride;
    y += 4 * y_stride;
  }
  switch (m) {
    case 3:
      return dot_columns<3, NC>(k, x, x_stride, b, stride, y, y_stride);
    case 2:
      return dot_columns<2, NC>(k, x, x_stride, b, stride, y, y_stride);
    case 1:
      return dot_columns<1, NC>(k, x, x_stride, b, stride, y, y_stride);
    default:
      return;
  }
}

template <class S, class T>
void cols(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, std::int64_t x_stride,
          const S* b, std::int64_t b_col_stride, T* y, std::int64_t y_stride) {
  constexpr int kColumns = 4;
  std::int64_t j = 0;
  // With one row memory is all the work, and fastest in one stream.
  for (; m > 1 && j + kColumns <= n; j += kColumns) {
    dot_rows<kColumns>(m, k, x, x_stride, b + j * b_col_stride, b_col_stride, y + j, y_stride);
  }
  for (; j < n; ++j) {
    dot_rows<1>(m, k, x, x_stride, b + j * b_col_stride, b_col_stride, y + j, y_stride);
  }
}

CpuSkinny make_cpu_skinny() {
  return {{rows<float, float>, cols<float, float>},
          {rows<double, double>, cols<double, double>},
          {rows<float16, float>, cols<float16, float>},
          {rows<bfloat16, float>, cols<bfloat16, float>}};
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_cpu_skinny);

const CpuSkinny& cpu_skinny() {
  static const CpuSkinny kernels = HWY_DYNAMIC_DISPATCH(make_cpu_skinny)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
