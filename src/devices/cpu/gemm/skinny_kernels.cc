// Products of a few rows with a matrix, once for every SIMD target. The matrix is read once, in the
// order in which it lies in memory.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "devices/cpu/gemm/order.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/gemm/skinny_columns.h"

// The baseline, AVX2 and AVX3 or NEON: what lies between is rare and would cost build time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/gemm/skinny_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "devices/cpu/gemm/load-inl.h"
#include "devices/cpu/gemm/turn-inl.h"

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

// Vectors that hold one word of each class, and sums of such words in registers at a time.
template <class T>
constexpr int kClassVectors =
    static_cast<int>(kSumClasses / std::min<std::int64_t>(hn::MaxLanes(Full<T>()), kSumClasses));
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kMostSums = 24, kMostRows = 6;
#elif HWY_TARGET == HWY_NEON
constexpr int kMostSums = 16, kMostRows = 4;
#else
constexpr int kMostSums = 8, kMostRows = 4;
#endif
constexpr int fitting(int most, int vectors) { return std::clamp(kMostSums / vectors, 1, most); }

// Vector v of the words at `src`, of which `left` are there; the others are anything.
template <class D, class S>
HWY_INLINE hn::Vec<D> load_words(D d, const S* src, std::int64_t v, std::int64_t left) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (left >= (v + 1) * lanes) return load_as(d, src + v * lanes);
  S some[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
  std::copy(src + std::min(v * lanes, left), src + left, some);
  return load_as(d, some);
}

// Sums by class of row i of x times column c of B, of k values, go to sums + i * row_step +
// c * kSumClasses. A column has `left` values from b on.
template <int MR, int NC, class S, class T>
void sum_classes(std::int64_t k, std::int64_t left, const T* x, std::int64_t x_stride, const S* b,
                 std::int64_t stride, T* sums, std::int64_t row_step) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  constexpr int kVectors = kClassVectors<T>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sum[MR][NC][kVectors];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][c][v] = hn::Zero(d);
    }
  }
  // How far ahead of what is read memory is asked for; behind the end lie the next columns.
  constexpr std::int64_t kFar = 12288 / sizeof(S), kNear = 2048 / sizeof(S);
  constexpr std::int64_t kLine = 64 / sizeof(S);
  const std::int64_t ahead = NC <= 2 ? kFar : std::min(kNear, left);
  const std::int64_t ends = NC <= 2 ? k : left - ahead;
  std::int64_t p = 0;
  for (; p + kSumClasses <= k; p += kSumClasses) {
    if (p % kLine == 0) {
      const S* const coming = b + p + ahead + (p < ends ? 0 : NC * stride - left);
      HEARTH_UNROLL
      for (int c = 0; c < NC; ++c) hwy::Prefetch(coming + c * stride);
    }
    HEARTH_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V column[NC];
      HEARTH_UNROLL
      for (int c = 0; c < NC; ++c) column[c] = load_as(d, b + c * stride + p + v * lanes);
      HEARTH_UNROLL
      for (int i = 0; i < MR; ++i) {
        V row = hn::LoadU(d, x + i * x_stride + p + v * lanes);
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86
        asm("" : "+v"(row.raw));  // it would be loaded again for every column
#endif
        HEARTH_UNROLL
        for (int c = 0; c < NC; ++c) sum[i][c][v] = hn::MulAdd(row, column[c], sum[i][c][v]);
      }
    }
  }
  for (int v = 0; p < k && v < kVectors; ++v) {
    const std::int64_t rest = k - p;
    const auto there = std::clamp<std::int64_t>(rest - v * lanes, 0, lanes);
    const auto mask = hn::FirstN(d, static_cast<size_t>(there));
    for (int i = 0; i < MR; ++i) {
      const V row = load_words(d, x + i * x_stride + p, v, rest);
      for (int c = 0; c < NC; ++c) {
        V& to = sum[i][c][v];
        to = hn::IfThenElse(mask, hn::MulAdd(row, load_words(d, b + c * stride + p, v, rest), to),
                            to);
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int c = 0; c < NC; ++c) {
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(sum[i][c][v], d, sums + i * row_step + c * kSumClasses + v * lanes);
      }
    }
  }
}

template <int NC, class S, class T>
void sum_rows(std::int64_t m, std::int64_t k, std::int64_t left, const T* x, std::int64_t x_stride,
              const S* b, std::int64_t stride, T* sums, std::int64_t row_step) {
  const auto sum_some = [&]<int MR>(std::integral_constant<int, MR>) {
    for (; m >= MR; m -= MR) {
      sum_classes<MR, NC>(k, left, x, x_stride, b, stride, sums, row_step);
      x += MR * x_stride;
      sums += MR * row_step;
    }
  };
  constexpr int kRows = fitting(kMostRows, NC * kClassVectors<T>);
  if constexpr (kRows > 4) {
    // Eight rows are twice four.
    if (m != 8) sum_some(std::integral_constant<int, kRows>());
    sum_some(std::integral_constant<int, 4>());
    sum_some(std::integral_constant<int, 2>());
  } else {
    sum_some(std::integral_constant<int, kRows>());
  }
  sum_some(std::integral_constant<int, 1>());
}

#if HWY_TARGET != HWY_SCALAR
// Of four columns, chain c of column j in lane 4 c + j.
template <class D>
HWY_INLINE hn::Vec<D> chains_of_4(D d, const hn::TFromD<D>* sums) {
  const hn::RepartitionToWide<D> dw;
  const auto s0 = hn::LoadU(d, sums), s1 = hn::LoadU(d, sums + kSumClasses);
  const auto s2 = hn::LoadU(d, sums + 2 * kSumClasses), s3 = hn::LoadU(d, sums + 3 * kSumClasses);
  const auto low_a = hn::BitCast(dw, hn::InterleaveLower(d, s0, s1));
  const auto low_b = hn::BitCast(dw, hn::InterleaveLower(d, s2, s3));
  const auto high_a = hn::BitCast(dw, hn::InterleaveUpper(d, s0, s1));
  const auto high_b = hn::BitCast(dw, hn::InterleaveUpper(d, s2, s3));
  auto sum = hn::Add(hn::BitCast(d, hn::InterleaveLower(dw, low_a, low_b)),
                     hn::BitCast(d, hn::InterleaveUpper(dw, low_a, low_b)));
  sum = hn::Add(sum, hn::BitCast(d, hn::InterleaveLower(dw, high_a, high_b)));
  return hn::Add(sum, hn::BitCast(d, hn::InterleaveUpper(dw, high_a, high_b)));
}

// Chains 0 and 1 added up, of the columns of a, then of b; chains 2 and 3 likewise.
template <class D, class V>
HWY_INLINE V join_pairs(D, V a, V b) {
  return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a),
                 hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a)));
}

// The sums of 16 columns, whose classes are a vector each.
template <class D>
HWY_INLINE hn::Vec<D> join_16(D d, const hn::TFromD<D>* sums) {
  constexpr std::int64_t kFour = 4 * kSumClasses;
  const auto first = join_pairs(d, chains_of_4(d, sums), chains_of_4(d, sums + kFour));
  const auto last =
      join_pairs(d, chains_of_4(d, sums + 2 * kFour), chains_of_4(d, sums + 3 * kFour));
  return hn::Add(hn::ConcatLowerLower(d, last, first), hn::ConcatUpperUpper(d, last, first));
}
#endif

// y[j] += the sums of column j's classes, joined as order.h says.
template <class T>
void add_classes(const T* sums, std::int64_t n, T* y) {
  std::int64_t j = 0;
  if constexpr (kClassVectors<T> == 1 && std::is_same_v<T, float>) {
    const hn::CappedTag<T, kSumClasses> d;
    for (; j + kSumClasses <= n; j += kSumClasses) {
      const auto total = join_16(d, sums + j * kSumClasses);
      hn::StoreU(hn::Add(hn::LoadU(d, y + j), total), d, y + j);
    }
  } else if constexpr (kTurn != 0 && std::is_same_v<T, float>) {
    const hn::CappedTag<T, kTurn> d;
    for (; j + kTurn <= n; j += kTurn) {
      HWY_ALIGN T turned[kSumClasses * std::max<std::int64_t>(kTurn, 1)];
      for (std::int64_t which = 0; which < kSumClasses; which += 4) {
        transpose(sums + j * kSumClasses + which, kSumClasses, turned + which * kTurn, kTurn);
      }
      hn::Vec<decltype(d)> chain[kSumChains];
      HEARTH_UNROLL
      for (std::int64_t c = 0; c < kSumChains; ++c) {
        const T* const first = turned + c * kChainClasses * kTurn;
        chain[c] = hn::Load(d, first);
        HEARTH_UNROLL
        for (std::int64_t i = 1; i < kChainClasses; ++i) {
          chain[c] = hn::Add(chain[c], hn::Load(d, first + i * kTurn));
        }
      }
      const auto total = hn::Add(hn::Add(chain[0], chain[1]), hn::Add(chain[2], chain[3]));
      hn::StoreU(hn::Add(hn::LoadU(d, y + j), total), d, y + j);
    }
  }
  for (; j < n; ++j) {
    T chain[kSumChains] = {};
    for (std::int64_t which = 0; which < kSumClasses; ++which) {
      chain[which / kChainClasses] += sums[j * kSumClasses + which];
    }
    y[j] += (chain[0] + chain[1]) + (chain[2] + chain[3]);
  }
}

template <class S, class T>
void cols(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, std::int64_t x_stride,
          const S* b, std::int64_t b_col_stride, T* y, std::int64_t y_stride) {
  // One row of f32 is fastest in few streams.
  constexpr int kTogether = fitting(4, kClassVectors<T>);
  constexpr int kAlone = sizeof(S) < 4 ? kTogether : std::min(kTogether, 2);
  const auto sum = [=]<int NC>(std::integral_constant<int, NC>, std::int64_t rows,
                               std::int64_t values, std::int64_t left, const T* from,
                               const S* column, T* sums, std::int64_t step) {
    sum_rows<NC>(rows, values, left, from, x_stride, column, b_col_stride, sums, step);
  };
  multiply_skinny_columns<ColumnSteps<1, kAlone, kTogether>>(m, n, k, x, x_stride, b, b_col_stride,
                                                             y, y_stride, sum, add_classes<T>);
}

CpuSkinny make_cpu_skinny() {
  return {kClassVectors<float> == 1 ? kSkinnyDotRows : kSkinnyDotRows / 2,
          {rows<float, float>, cols<float, float>},
          {rows<double, double>, cols<double, double>},
          {rows<float16, float>, cols<float16, float>},
          {rows<bfloat16, float>, cols<bfloat16, float>},
          add_classes<float>};
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
