// Combining values in reductions: sum, prod, max, min in each compute class.
//
// Rows: element i goes to partial result i mod kFoldLanes, and the partial results are combined in a
// fixed tree, so the result does not depend on the width of the vectors.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/tile_folds.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/tile_vector.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

// NaN wins in max and min. `scalar` forms take part where a run is shorter than a vector; they give
// the same values.
struct SumFold {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};
struct ProdFold {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    } else {
      return a * b;
    }
  }
};
struct MaxFold {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if constexpr (std::is_arithmetic_v<T>) {
      return a > b || a != a ? a : b;
    } else {
      return scalar::maximum(a, b);
    }
  }
};
struct MinFold {
  template <class T>
  static HWY_INLINE T apply(T a, T b) {
    if constexpr (std::is_arithmetic_v<T>) {
      return a < b || a != a ? a : b;
    } else {
      return scalar::minimum(a, b);
    }
  }
};

template <class F, class L>
void fold_row(std::byte* lanes_at, const std::byte* values_at, std::int64_t n) {
  constexpr std::int64_t kWidth = kLanes<L>;
  constexpr int kVectors = static_cast<int>(kFoldLanes / kWidth);
  const Tag<L> d;
  L* lanes = reinterpret_cast<L*>(lanes_at);
  const L* values = reinterpret_cast<const L*>(values_at);
  std::int64_t i = 0;
  if constexpr (kVectors <= 8) {
    if (n >= kFoldLanes) {
      Vec<L> sums[kVectors];
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, lanes + v * kWidth);
      for (; i + kFoldLanes <= n; i += kFoldLanes) {
        HEARTH_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          sums[v] = F::apply(sums[v], Vec<L>(hn::LoadU(d, values + i + v * kWidth)));
        }
      }
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v].raw, d, lanes + v * kWidth);
    }
  } else {
    // More partial results than registers: a share of them at a time.
    const std::int64_t whole = n - n % kFoldLanes;
    for (std::int64_t part = 0; part < kFoldLanes; part += 4 * kWidth) {
      Vec<L> sums[4];
      HEARTH_UNROLL
      for (int v = 0; v < 4; ++v) sums[v] = hn::LoadU(d, lanes + part + v * kWidth);
      for (i = 0; i < whole; i += kFoldLanes) {
        HEARTH_UNROLL
        for (int v = 0; v < 4; ++v) {
          sums[v] = F::apply(sums[v], Vec<L>(hn::LoadU(d, values + i + part + v * kWidth)));
        }
      }
      HEARTH_UNROLL
      for (int v = 0; v < 4; ++v) hn::StoreU(sums[v].raw, d, lanes + part + v * kWidth);
    }
    i = whole;
  }
  L* rest = lanes;
  for (; i + kWidth <= n; i += kWidth, rest += kWidth) {
    hn::StoreU(F::apply(Vec<L>(hn::LoadU(d, rest)), Vec<L>(hn::LoadU(d, values + i))).raw, d, rest);
  }
  for (; i < n; ++i, ++rest) *rest = F::apply(*rest, values[i]);
}

template <class F, class L>
HWY_INLINE L fold_lanes(const L* lanes) {
  constexpr std::int64_t kWidth = kLanes<L>;
  const Tag<L> d;
  // A binary tree by halves: 64 -> 32 -> 16 -> ... -> 1, whatever the vector's width.
  alignas(64) L tree[kFoldLanes / 2];
  for (std::int64_t i = 0; i < kFoldLanes / 2; i += kWidth) {
    hn::Store(F::apply(Vec<L>(hn::LoadU(d, lanes + i)),
                       Vec<L>(hn::LoadU(d, lanes + i + kFoldLanes / 2))).raw, d, tree + i);
  }
  std::int64_t half = kFoldLanes / 4;
  for (; half >= kWidth; half /= 2) {
    for (std::int64_t i = 0; i < half; i += kWidth) {
      hn::Store(F::apply(Vec<L>(hn::Load(d, tree + i)), Vec<L>(hn::Load(d, tree + i + half))).raw,
                d, tree + i);
    }
  }
  for (; half >= 1; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) tree[i] = F::apply(tree[i], tree[i + half]);
  }
  return tree[0];
}

template <class F, class L>
void fold_finish(std::byte* result, const std::byte* lanes) {
  *reinterpret_cast<L*>(result) = fold_lanes<F>(reinterpret_cast<const L*>(lanes));
}

template <class F, class L>
void fold_columns(std::byte* into_at, const std::byte* values_at, std::int64_t n, std::int64_t rows,
                  std::int64_t stride) {
  constexpr std::int64_t kWidth = kLanes<L>;
  const Tag<L> d;
  L* into = reinterpret_cast<L*>(into_at);
  const L* values = reinterpret_cast<const L*>(values_at);
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4, values += 4 * stride) {
    const L* v1 = values + stride;
    const L* v2 = v1 + stride;
    const L* v3 = v2 + stride;
    std::int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      Vec<L> x = F::apply(Vec<L>(hn::LoadU(d, values + i)), Vec<L>(hn::LoadU(d, v1 + i)));
      Vec<L> y = F::apply(Vec<L>(hn::LoadU(d, v2 + i)), Vec<L>(hn::LoadU(d, v3 + i)));
      hn::StoreU(F::apply(Vec<L>(hn::LoadU(d, into + i)), F::apply(x, y)).raw, d, into + i);
    }
    for (; i < n; ++i) {
      into[i] = F::apply(into[i], F::apply(F::apply(values[i], v1[i]), F::apply(v2[i], v3[i])));
    }
  }
  for (; r < rows; ++r, values += stride) {
    std::int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      hn::StoreU(F::apply(Vec<L>(hn::LoadU(d, into + i)), Vec<L>(hn::LoadU(d, values + i))).raw, d,
                 into + i);
    }
    for (; i < n; ++i) into[i] = F::apply(into[i], values[i]);
  }
}

// Short runs side by side: column j of all rows at once where runs are short, else row by row.
template <class F, class L>
void fold_segments(std::byte* results_at, const std::byte* values_at, std::int64_t length,
                   std::int64_t rows) {
  constexpr std::int64_t kWidth = kLanes<L>;
  const Tag<L> d;
  L* results = reinterpret_cast<L*>(results_at);
  const L* values = reinterpret_cast<const L*>(values_at);
  for (std::int64_t r = 0; r < rows; ++r, values += length) {
    std::int64_t i = 0;
    L result;
    if (length >= kWidth) {
      Vec<L> sum = hn::LoadU(d, values);
      for (i = kWidth; i + kWidth <= length; i += kWidth) {
        sum = F::apply(sum, Vec<L>(hn::LoadU(d, values + i)));
      }
      HWY_ALIGN L tree[kLanes<L>];
      hn::Store(sum.raw, d, tree);
      for (std::int64_t half = kWidth / 2; half >= 1; half /= 2) {
        for (std::int64_t k = 0; k < half; ++k) tree[k] = F::apply(tree[k], tree[k + half]);
      }
      result = tree[0];
    } else {
      result = values[0];
      i = 1;
    }
    for (; i < length; ++i) result = F::apply(result, values[i]);
    results[r] = result;
  }
}

template <class F, class L>
void set_fold(TileTable& table, Combine combine, TileClass type) {
  table.fold[static_cast<int>(combine)][static_cast<int>(type)] = {
      fold_row<F, L>, fold_columns<F, L>, fold_segments<F, L>, fold_finish<F, L>};
}
template <class L>
void set_folds(TileTable& table, TileClass type) {
  set_fold<SumFold, L>(table, Combine::sum, type);
  set_fold<ProdFold, L>(table, Combine::prod, type);
  set_fold<MaxFold, L>(table, Combine::max, type);
  set_fold<MinFold, L>(table, Combine::min, type);
}

void fill_folds(TileTable& table) {
  set_folds<float>(table, TileClass::f32);
  set_folds<double>(table, TileClass::f64);
  set_folds<std::int32_t>(table, TileClass::i32);
  set_folds<std::int64_t>(table, TileClass::i64);
  set_folds<std::uint64_t>(table, TileClass::u64);
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(fill_folds);
void fill_tile_folds(TileTable& table) { HWY_DYNAMIC_DISPATCH(fill_folds)(table); }

}  // namespace hearth::cpu
#endif
