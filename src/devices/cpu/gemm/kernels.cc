// Register tiles and packing of the matrix multiply, once for every SIMD target.
#include "devices/cpu/gemm/kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "devices/cpu/gemm/order.h"

// The baseline, AVX2 and AVX3 or NEON: what lies between is rare and would cost build time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/gemm/kernels.cc"
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

// Accumulators, a row of B and one element of A have to fit in the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
constexpr int kVectors = 4;
constexpr int rows_of(int vectors) { return vectors <= 2 ? 12 : 6; }
#else
constexpr int kVectors = 2;
constexpr int rows_of(int) { return 6; }
#endif
// Masked loads that cannot fault.
constexpr bool kPartial = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;

template <class T>
using Full = hn::ScalableTag<T>;

template <class T>
struct Tile {
  std::int64_t k;
  const T* a;
  std::int64_t a_row_stride, a_step;
  const std::int64_t *a_rows, *a_offsets;
  const T* b;
  std::int64_t b_step;
  T* c;
  std::int64_t c_row_stride;
  std::int64_t last;  // columns in the last vector
  bool accumulate;
};

// MR rows by NV vectors of C in registers, over all of k; values of A at offsets or a step apart.
template <int MR, int NV, bool kOffsets, class T>
void run_tile(const Tile<T>& t) {
  const Full<T> d;
  using V = hn::Vec<Full<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, static_cast<size_t>(t.last));
  const T* a[MR];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) a[i] = t.a + (kOffsets ? t.a_rows[i] : i * t.a_row_stride);
  const T* HWY_RESTRICT b = t.b;
  T* HWY_RESTRICT c = t.c;

  // C is needed last and has often left the cache since the previous part of k.
  if (t.k >= 64) {
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < NV; ++v) hwy::Prefetch(c + i * t.c_row_stride + v * lanes);
    }
  }
  V sum[MR][NV];
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    HEARTH_UNROLL
    for (int v = 0; v < NV; ++v) sum[i][v] = hn::Zero(d);
  }
  std::int64_t at = 0;
  for (std::int64_t p = 0; p < t.k; ++p) {
    if constexpr (kOffsets) at = t.a_offsets[p];
    V row[NV];
    HEARTH_UNROLL
    for (int v = 0; v < NV; ++v) {
      if (kPartial && v == NV - 1) {
        row[v] = hn::MaskedLoad(mask, d, b + v * lanes);
      } else {
        row[v] = hn::LoadU(d, b + v * lanes);
      }
    }
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      const V x = hn::Set(d, a[i][at]);
      HEARTH_UNROLL
      for (int v = 0; v < NV; ++v) sum[i][v] = hn::MulAdd(x, row[v], sum[i][v]);
    }
    if constexpr (!kOffsets) at += t.a_step;
    b += t.b_step;
  }

  const std::int64_t step = t.c_row_stride;
  const std::int64_t last = t.last;
  if (last == lanes) {
    if (t.accumulate) {
      HEARTH_UNROLL
      for (int i = 0; i < MR; ++i) {
        HEARTH_UNROLL
        for (int v = 0; v < NV; ++v) {
          sum[i][v] = hn::Add(hn::LoadU(d, c + i * step + v * lanes), sum[i][v]);
        }
      }
    }
    HEARTH_UNROLL
    for (int i = 0; i < MR; ++i) {
      HEARTH_UNROLL
      for (int v = 0; v < NV; ++v) hn::StoreU(sum[i][v], d, c + i * step + v * lanes);
    }
    return;
  }
  const bool accumulate = t.accumulate;
  HEARTH_UNROLL
  for (int i = 0; i < MR; ++i) {
    T* out = c + i * step;
    HEARTH_UNROLL
    for (int v = 0; v < NV - 1; ++v) {
      V r = sum[i][v];
      if (accumulate) r = hn::Add(hn::LoadU(d, out + v * lanes), r);
      hn::StoreU(r, d, out + v * lanes);
    }
    out += (NV - 1) * lanes;
    if constexpr (kPartial) {
      V r = sum[i][NV - 1];
      if (accumulate) r = hn::Add(hn::MaskedLoad(mask, d, out), r);
      hn::BlendedStore(r, mask, d, out);
    } else {
      HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)] = {};
      hn::Store(sum[i][NV - 1], d, part);
      for (std::int64_t j = 0; j < last; ++j) out[j] = accumulate ? out[j] + part[j] : part[j];
    }
  }
}

template <int NV, bool kOffsets, class T, int... MR>
void run_rows(int rows, const Tile<T>& t, std::integer_sequence<int, MR...>) {
  static constexpr void (*kTiles[])(const Tile<T>&) = {run_tile<MR + 1, NV, kOffsets, T>...};
  kTiles[rows - 1](t);
}

template <int NV, bool kOffsets, class T>
void run_panel(const GemmBlock<T, T, T>& g, Tile<T>& t) {
  constexpr int kRows = rows_of(NV);
  static_assert(kRowPanel % kRows == 0);
  for (std::int64_t i = 0; i < g.m; i += kRows) {
    if constexpr (kOffsets) {
      t.a = g.a;
      t.a_rows = g.a_rows + i;
    } else {
      t.a = g.a + i / kRowPanel * g.a_panel_stride + i % kRowPanel * g.a_row_stride;
    }
    if (g.m - i >= kRows) {
      run_tile<kRows, NV, kOffsets, T>(t);
    } else {
      run_rows<NV, kOffsets>(static_cast<int>(g.m - i), t,
                             std::make_integer_sequence<int, kRows - 1>());
    }
    t.c += kRows * t.c_row_stride;
  }
}

template <bool kOffsets, class T>
void run_panels(const GemmBlock<T, T, T>& g) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Full<T>()));
  Tile<T> t;
  t.k = g.k;
  t.a_row_stride = g.a_row_stride;
  t.a_step = g.a_step;
  t.c_row_stride = g.c_row_stride;
  t.accumulate = g.accumulate;
  t.a_offsets = g.a_offsets;
  for (std::int64_t j = 0; j < g.n;) {
    const std::int64_t left = (g.n - j + lanes - 1) / lanes;
    const std::int64_t width = panel_vectors(left, kVectors);
    t.b_step = g.b_packed ? width * lanes : g.b_step;
    t.b = g.b + j * g.b_panel_stride + g.b_first * t.b_step;
    t.c = g.c + j;
    t.last = std::min(g.n - j - (width - 1) * lanes, lanes);
    if (width == 1) {
      run_panel<1, kOffsets>(g, t);
    } else if (width == 2) {
      run_panel<2, kOffsets>(g, t);
    } else if constexpr (kVectors > 2) {
      if (width == 3) {
        run_panel<3, kOffsets>(g, t);
      } else {
        run_panel<4, kOffsets>(g, t);
      }
    }
    j += width * lanes;
  }
}

template <class T>
void run_block(const GemmBlock<T, T, T>& g) {
  g.a_offsets != nullptr ? run_panels<true>(g) : run_panels<false>(g);
}

template <class T, class S>
T load_one(const S* src) {
  return static_cast<T>(*src);
}

// dst[j] = src[j].
template <class S, class T>
HWY_INLINE void copy_row(const S* src, std::int64_t cols, T* dst) {
  std::int64_t j = 0;
  if constexpr (!std::is_same_v<T, bfloat16>) {
    const Full<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (; j + lanes <= cols; j += lanes) hn::StoreU(load_as(d, src + j), d, dst + j);
    const hn::CappedTag<T, 4> d4;
    constexpr auto kFour = static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<T, 4>()));
    for (; j + kFour <= cols; j += kFour) hn::StoreU(load_as(d4, src + j), d4, dst + j);
  }
  for (; j < cols; ++j) dst[j] = load_one<T>(src + j);
}

// dst[i * dst_stride + j] = src[i * row_stride + j * col_stride].
template <class S, class T>
void copy_matrix(const S* src, std::int64_t row_stride, std::int64_t col_stride, std::int64_t rows,
                 std::int64_t cols, T* HWY_RESTRICT dst, std::int64_t dst_stride) {
  if constexpr (kTurn != 0) {
    // Whole cache lines of the source at a time, through a buffer: its columns may all lie in one
    // set of the cache.
    constexpr std::int64_t kLine = 16;
    for (; row_stride == 1 && col_stride != 1 && rows >= kLine; rows -= kLine) {
      HWY_ALIGN T buffer[std::max<std::int64_t>(kTurn, 1) * kLine];
      std::int64_t j = 0;
      if constexpr (std::is_same_v<T, float> && kTurn == 16) {
        for (; j + kTurn <= cols; j += kTurn) {
          turn_16(src + j * col_stride, col_stride, dst + j, dst_stride);
        }
      }
      for (; j + kTurn <= cols; j += kTurn) {
        for (std::int64_t x = 0; x < kTurn; ++x) {
          copy_row(src + (j + x) * col_stride, kLine, buffer + x * kLine);
        }
        for (std::int64_t i = 0; i < kLine; i += 4) {
          transpose(buffer + i, kLine, dst + i * dst_stride + j, dst_stride);
        }
      }
      for (; j < cols; ++j) {
        for (std::int64_t i = 0; i < kLine; ++i) {
          dst[i * dst_stride + j] = load_one<T>(src + i + j * col_stride);
        }
      }
      src += kLine;
      dst += kLine * dst_stride;
    }
  }
  if (col_stride == 1) {
    for (std::int64_t i = 0; i < rows; ++i)
      copy_row(src + i * row_stride, cols, dst + i * dst_stride);
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const S* row = src + i * row_stride;
    T* out = dst + i * dst_stride;
    for (std::int64_t j = 0; j < cols; ++j) out[j] = load_one<T>(row + j * col_stride);
  }
}

// kRowPanel columns.
template <class S, class T>
HWY_INLINE void pack_rows(const S* src, std::int64_t row_stride, std::int64_t rows, T* dst) {
  const hn::CappedTag<T, 4> d4;
  constexpr auto kFour = static_cast<std::int64_t>(hn::MaxLanes(hn::CappedTag<T, 4>()));
  for (std::int64_t p = 0; p < rows; ++p) {
    HEARTH_UNROLL
    for (std::int64_t j = 0; j < kRowPanel; j += kFour) {
      hn::StoreU(load_as(d4, src + j), d4, dst + j);
    }
    src += row_stride;
    dst += kRowPanel;
  }
}

template <class S, class T>
void pack_panels(const S* src, std::int64_t row_stride, std::int64_t col_stride, std::int64_t rows,
                 std::int64_t n, std::int64_t height, std::int64_t fixed_width, std::int64_t first,
                 std::int64_t class_rows, T* dst) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Full<T>()));
  // A few rows at a time, so that the lines two panels share are read once.
  constexpr std::int64_t kRows = kSumClasses;
  const std::int64_t step = class_rows > 0 ? class_rows : 1;
  for (std::int64_t p = 0; p < rows; p += kRows) {
    const std::int64_t some = std::min(kRows, rows - p);
    prefetch_rows(src + (p + some) * row_stride, row_stride, col_stride,
                  std::min(kRows, rows - p - some), n);
    for (std::int64_t j = 0; j < n;) {
      const std::int64_t left = (n - j + lanes - 1) / lanes;
      const std::int64_t width =
          fixed_width != 0 ? fixed_width : panel_vectors(left, kVectors) * lanes;
      const std::int64_t cols = std::min(width, n - j);
      T* panel = dst + j * height + (first + (class_rows > 0 ? p / kRows : p)) * width;
      if (cols == kRowPanel && width == kRowPanel && col_stride == 1 && step == 1) {
        pack_rows(src + p * row_stride + j, row_stride, some, panel);
        j += width;
        continue;
      }
      copy_matrix(src + p * row_stride + j * col_stride, row_stride, col_stride, some, cols, panel,
                  step * width);
      for (std::int64_t i = 0; cols < width && i < some; ++i) {
        T* const row = panel + i * step * width;
        std::fill(row + cols, row + width, T{0});
      }
      j += width;
    }
  }
}

template <class T>
void deal_words(const void* src, std::int64_t words, void* dst, std::int64_t class_step) {
  const T* const from = static_cast<const T*>(src);
  T* const to = static_cast<T*>(dst);
  const std::int64_t whole = words / kSumClasses;
  if (kTurn == 0 || whole < kTurn) {
    copy_matrix<T, T>(from, 1, kSumClasses, kSumClasses, whole, to, class_step);
  } else {
    // The last turn takes again what the one before it left whole.
    for (std::int64_t t = 0; t < whole; t += kTurn) {
      t = std::min(t, whole - kTurn);
      for (std::int64_t which = 0; which < kSumClasses; which += 4) {
        transpose(from + t * kSumClasses + which, kSumClasses, to + which * class_step + t,
                  class_step);
      }
    }
  }
  for (std::int64_t p = whole * kSumClasses; p < words; ++p) {
    std::memcpy(to + p % kSumClasses * class_step + whole, from + p, sizeof(T));
  }
}

template <class T>
void join_chains(const T* sums, std::int64_t step, std::int64_t chains, std::int64_t m,
                 std::int64_t n, bool accumulate, T* c, std::int64_t c_row_stride) {
  const Full<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const T* chain[kSumChains];
  for (std::int64_t i = 0; i < kSumChains; ++i) chain[i] = sums + std::min(i, chains - 1) * step;
  for (std::int64_t i = 0; i < m; ++i, c += c_row_stride) {
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes) {
      auto total = hn::LoadU(d, chain[0] + i * n + j);
      if (chains > 1) total = hn::Add(total, hn::LoadU(d, chain[1] + i * n + j));
      if (chains > 2) {
        auto others = hn::LoadU(d, chain[2] + i * n + j);
        if (chains > 3) others = hn::Add(others, hn::LoadU(d, chain[3] + i * n + j));
        total = hn::Add(total, others);
      }
      if (accumulate) total = hn::Add(hn::LoadU(d, c + j), total);
      hn::StoreU(total, d, c + j);
    }
    for (; j < n; ++j) {
      const std::int64_t at = i * n + j;
      T total = chain[0][at];
      if (chains > 1) total += chain[1][at];
      if (chains > 2) total += chains > 3 ? chain[2][at] + chain[3][at] : chain[2][at];
      c[j] = accumulate ? c[j] + total : total;
    }
  }
}

inline void store_as(hn::Vec<Full<float>> v, float16* dst) {
  const hn::Rebind<hwy::float16_t, Full<float>> dh;
  hn::StoreU(hn::DemoteTo(dh, v), dh, reinterpret_cast<hwy::float16_t*>(dst));
}

// Rounds to nearest even; NaN keeps its sign and stays NaN.
inline void store_as(hn::Vec<Full<float>> v, bfloat16* dst) {
  const hn::RebindToUnsigned<Full<float>> du32;
  const hn::Rebind<uint16_t, Full<float>> du16;
  const auto bits = hn::BitCast(du32, v);
  const auto top = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(top, hn::Set(du32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du32, 0x7fff)), odd));
  const auto quiet = hn::Or(top, hn::Set(du32, 0x40));
  const auto nan = hn::RebindMask(du32, hn::IsNaN(v));
  const auto chosen = hn::IfThenElse(nan, quiet, rounded);
  hn::StoreU(hn::TruncateTo(du16, chosen), du16, reinterpret_cast<uint16_t*>(dst));
}

template <class R>
void narrow_rows(const float* src, std::int64_t row_stride, std::int64_t col_stride,
                 std::int64_t rows, std::int64_t cols, R* dst, std::int64_t dst_stride) {
  const Full<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = src + i * row_stride;
    R* out = dst + i * dst_stride;
    std::int64_t j = 0;
    if (col_stride == 1) {
      for (; j + lanes <= cols; j += lanes) store_as(hn::LoadU(d, row + j), out + j);
    }
    for (; j < cols; ++j) out[j] = R(row[j * col_stride]);
  }
}

template <class T>
GemmKernels<T, T, T> kernels_of() {
  return {static_cast<std::int64_t>(hn::Lanes(Full<T>())),
          kVectors,
          kPartial,
          run_block<T>,
          deal_words<T>,
          join_chains<T>};
}

CpuGemm make_cpu_gemm() {
  return {kernels_of<float>(),
          kernels_of<double>(),
          {pack_panels<float, float>, copy_matrix<float, float>},
          {pack_panels<double, double>, copy_matrix<double, double>},
          {pack_panels<float16, float>, copy_matrix<float16, float>},
          {pack_panels<bfloat16, float>, copy_matrix<bfloat16, float>},
          copy_matrix<bfloat16, bfloat16>,
          narrow_rows<float16>,
          narrow_rows<bfloat16>};
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_cpu_gemm);

const CpuGemm& cpu_gemm() {
  static const CpuGemm kernels = HWY_DYNAMIC_DISPATCH(make_cpu_gemm)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
