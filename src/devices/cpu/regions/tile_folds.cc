// Combining values in reductions: sum, prod, max, min in each compute class.
//
// Nothing here depends on the width of the vectors: element i of a row goes to partial result
// i mod kFoldLanes, columns and short runs are added up in order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/regions/tile_folds.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/regions/tile_loops.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

// NaN wins in max and min, among zeros either. `scalar` forms serve where a run is shorter than a
// vector; they give the same values.
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

// The largest or least of floats by the processor's own instruction, which does not keep a NaN;
// `sums` are as before where there may be one, or two infinities that cancel.
template <class F, class L>
constexpr bool kIsExtreme =
    std::is_floating_point_v<L> && (std::is_same_v<F, MaxFold> || std::is_same_v<F, MinFold>);

template <class F, class L, class M, int kCount>
HWY_INLINE bool fold_extremes(Vec<L> (&sums)[kCount], const typename M::Word* values,
                              std::int64_t n) {
  constexpr std::int64_t kWidth = kLanes<L>;
  const Tag<L> d;
  hn::Vec<Tag<L>> best[kCount];
  auto bad = hn::IsNaN(sums[0].raw);
  HEARTH_UNROLL
  for (int v = 0; v < kCount; ++v) {
    best[v] = sums[v].raw;
    bad = hn::Or(bad, hn::IsNaN(best[v]));
  }
  for (std::int64_t at = 0; at < n; at += kFoldLanes) {
    HEARTH_UNROLL
    for (int v = 0; v + 1 < kCount; v += 2) {
      const auto x = M::load(values + at + v * kWidth);
      const auto y = M::load(values + at + (v + 1) * kWidth);
      bad = hn::Or(bad, hn::IsNaN(hn::Add(x, y)));
      best[v] = std::is_same_v<F, MaxFold> ? hn::Max(best[v], x) : hn::Min(best[v], x);
      best[v + 1] = std::is_same_v<F, MaxFold> ? hn::Max(best[v + 1], y) : hn::Min(best[v + 1], y);
    }
  }
  if (!hn::AllFalse(d, bad)) return false;
  HEARTH_UNROLL
  for (int v = 0; v < kCount; ++v) sums[v].raw = best[v];
  return true;
}

// v with what lies `kHalf` lanes higher in the first ones.
template <int kHalf, class L>
HWY_INLINE Vec<L> upper_half(Vec<L> v) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  const Tag<L> d;
  constexpr int kBytes = kHalf * static_cast<int>(sizeof(L));
  if constexpr (kBytes == 32) {
    return hn::ConcatUpperUpper(d, v.raw, v.raw);
  } else if constexpr (kBytes == 16) {
    return hn::SwapAdjacentBlocks(v.raw);
  } else if constexpr (kBytes == 8) {
    const hn::Repartition<std::uint64_t, Tag<L>> d64;
    return hn::BitCast(d, hn::Shuffle01(hn::BitCast(d64, v.raw)));
  } else {
    const hn::Repartition<std::uint32_t, Tag<L>> d32;
    return hn::BitCast(d, hn::Shuffle2301(hn::BitCast(d32, v.raw)));
  }
#endif
}
template <class F, int kHalf, class L>
HWY_INLINE Vec<L> join_lanes(Vec<L> v) {
  if constexpr (kHalf == 0) {
    return v;
  } else {
    return join_lanes<F, kHalf / 2>(Vec<L>(F::apply(v, upper_half<kHalf>(v))));
  }
}

template <class F, class L>
void fold_lanes(std::byte* lanes_at) {
  constexpr std::int64_t kWidth = kLanes<L>;
  constexpr int kVectors = static_cast<int>(kFoldLanes / kWidth);
  const Tag<L> d;
  L* lanes = reinterpret_cast<L*>(lanes_at);
  Vec<L> v[kVectors];
  HEARTH_UNROLL
  for (int i = 0; i < kVectors; ++i) v[i] = hn::LoadU(d, lanes + i * kWidth);
  HEARTH_UNROLL
  for (int half = kVectors / 2; half > 0; half /= 2) {
    HEARTH_UNROLL
    for (int i = 0; i < half; ++i) v[i] = F::apply(v[i], v[half + i]);
  }
  lanes[0] = hn::GetLane(join_lanes<F, static_cast<int>(kWidth / 2)>(v[0]).raw);
}

// How values lie in memory.
template <class L>
struct AsTheyAre {
  using Word = L;
  static HWY_INLINE hn::Vec<Tag<L>> load(const L* p) { return hn::LoadU(Tag<L>(), p); }
  static HWY_INLINE L one(const L* p) { return *p; }
};
struct Brains {
  using Word = std::uint16_t;
  static HWY_INLINE hn::Vec<Tag<float>> load(const std::uint16_t* p) {
    const Tag<float> d;
    const hn::RebindToUnsigned<Tag<float>> words;
    const hn::Rebind<std::uint16_t, Tag<float>> halves;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(words, hn::LoadU(halves, p))));
  }
  static HWY_INLINE float one(const std::uint16_t* p) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(*p) << 16);
  }
};

template <class F, class L, class M = AsTheyAre<L>>
void fold_row(std::byte* lanes_at, const std::byte* values_at, std::int64_t n) {
  constexpr std::int64_t kWidth = kLanes<L>;
  constexpr int kVectors = static_cast<int>(kFoldLanes / kWidth);
  const Tag<L> d;
  L* lanes = reinterpret_cast<L*>(lanes_at);
  const auto* values = reinterpret_cast<const typename M::Word*>(values_at);
  const std::int64_t whole = n - n % kFoldLanes;
  // As many partial results at a time as there are registers for.
  constexpr int kAtOnce = kVectors < 8 ? kVectors : 8;
  for (std::int64_t part = 0; whole > 0 && part < kFoldLanes; part += kAtOnce * kWidth) {
    Vec<L> sums[kAtOnce];
    HEARTH_UNROLL
    for (int v = 0; v < kAtOnce; ++v) sums[v] = hn::LoadU(d, lanes + part + v * kWidth);
    bool done = false;
    if constexpr (kIsExtreme<F, L> && kAtOnce % 2 == 0) {
      done = fold_extremes<F, L, M, kAtOnce>(sums, values + part, whole);
    }
    for (std::int64_t at = part; at < whole && !done; at += kFoldLanes) {
      HEARTH_UNROLL
      for (int v = 0; v < kAtOnce; ++v) {
        sums[v] = F::apply(sums[v], Vec<L>(M::load(values + at + v * kWidth)));
      }
    }
    HEARTH_UNROLL
    for (int v = 0; v < kAtOnce; ++v) hn::StoreU(sums[v].raw, d, lanes + part + v * kWidth);
  }
  std::int64_t i = whole;
  L* rest = lanes;
  for (; i + kWidth <= n; i += kWidth, rest += kWidth) {
    hn::StoreU(F::apply(Vec<L>(hn::LoadU(d, rest)), Vec<L>(M::load(values + i))).raw, d, rest);
  }
  for (; i < n; ++i, ++rest) *rest = F::apply(*rest, M::one(values + i));
}

template <class F, class L, class M = AsTheyAre<L>>
void fold_columns(std::byte* into_at, const std::byte* values_at, std::int64_t n, std::int64_t rows,
                  std::int64_t stride) {
  constexpr std::int64_t kWidth = kLanes<L>;
  const Tag<L> d;
  L* into = reinterpret_cast<L*>(into_at);
  const auto* values = reinterpret_cast<const typename M::Word*>(values_at);
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4, values += 4 * stride) {
    const auto* v1 = values + stride;
    const auto* v2 = v1 + stride;
    const auto* v3 = v2 + stride;
    std::int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      Vec<L> x = F::apply(Vec<L>(M::load(values + i)), Vec<L>(M::load(v1 + i)));
      Vec<L> y = F::apply(Vec<L>(M::load(v2 + i)), Vec<L>(M::load(v3 + i)));
      hn::StoreU(F::apply(Vec<L>(hn::LoadU(d, into + i)), F::apply(x, y)).raw, d, into + i);
    }
    for (; i < n; ++i) {
      const L x = F::apply(M::one(values + i), M::one(v1 + i));
      const L y = F::apply(M::one(v2 + i), M::one(v3 + i));
      into[i] = F::apply(into[i], F::apply(x, y));
    }
  }
  for (; r < rows; ++r, values += stride) {
    std::int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      hn::StoreU(F::apply(Vec<L>(hn::LoadU(d, into + i)), Vec<L>(M::load(values + i))).raw, d,
                 into + i);
    }
    for (; i < n; ++i) into[i] = F::apply(into[i], M::one(values + i));
  }
}

// Several runs interleaved, each added up in order: loads are the limit, not the chain of
// additions.
template <class F, class L>
void fold_segments(std::byte* results_at, const std::byte* values_at, std::int64_t length,
                   std::int64_t rows) {
  constexpr int kAtOnce = 8;
  L* results = reinterpret_cast<L*>(results_at);
  const L* values = reinterpret_cast<const L*>(values_at);
  std::int64_t r = 0;
  for (; r + kAtOnce <= rows; r += kAtOnce, values += kAtOnce * length) {
    L sums[kAtOnce];
    HEARTH_UNROLL
    for (int k = 0; k < kAtOnce; ++k) sums[k] = values[k * length];
    for (std::int64_t i = 1; i < length; ++i) {
      HEARTH_UNROLL
      for (int k = 0; k < kAtOnce; ++k) sums[k] = F::apply(sums[k], values[k * length + i]);
    }
    HEARTH_UNROLL
    for (int k = 0; k < kAtOnce; ++k) results[r + k] = sums[k];
  }
  for (; r < rows; ++r, values += length) {
    L sum = values[0];
    for (std::int64_t i = 1; i < length; ++i) sum = F::apply(sum, values[i]);
    results[r] = sum;
  }
}

template <class F, class L>
void set_fold(TileTable& table, Combine combine, ComputeClass type) {
  table.fold[static_cast<int>(combine)][static_cast<int>(type)] = {
      fold_row<F, L>, fold_lanes<F, L>, fold_columns<F, L>, fold_segments<F, L>};
}
template <class F>
void set_brain_fold(TileTable& table, Combine combine) {
  table.fold_bf16[static_cast<int>(combine)] = {fold_row<F, float, Brains>, fold_lanes<F, float>,
                                                fold_columns<F, float, Brains>, nullptr};
}
template <class L>
void set_folds(TileTable& table, ComputeClass type) {
  set_fold<SumFold, L>(table, Combine::sum, type);
  set_fold<ProdFold, L>(table, Combine::prod, type);
  set_fold<MaxFold, L>(table, Combine::max, type);
  set_fold<MinFold, L>(table, Combine::min, type);
}

void fill_folds(TileTable& table) {
  set_folds<float>(table, ComputeClass::f32);
  set_folds<double>(table, ComputeClass::f64);
  set_brain_fold<SumFold>(table, Combine::sum);
  set_brain_fold<ProdFold>(table, Combine::prod);
  set_brain_fold<MaxFold>(table, Combine::max);
  set_brain_fold<MinFold>(table, Combine::min);
  set_folds<std::int32_t>(table, ComputeClass::i32);
  set_folds<std::int64_t>(table, ComputeClass::i64);
  // Sums and products have the same bits with and without a sign.
  constexpr int kSigned = static_cast<int>(ComputeClass::i64);
  constexpr int kUnsigned = static_cast<int>(ComputeClass::u64);
  for (const Combine combine : {Combine::sum, Combine::prod}) {
    auto& folds = table.fold[static_cast<int>(combine)];
    folds[kUnsigned] = folds[kSigned];
  }
  set_fold<MaxFold, std::uint64_t>(table, Combine::max, ComputeClass::u64);
  set_fold<MinFold, std::uint64_t>(table, Combine::min, ComputeClass::u64);
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
