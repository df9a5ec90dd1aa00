// Loops over tiles, that steps of a program are made of. Included like tile_vector.h.

#if defined(HEARTH_TILE_LOOPS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_TILE_LOOPS_H
#undef HEARTH_TILE_LOOPS_H
#else
#define HEARTH_TILE_LOOPS_H
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "devices/cpu/regions/tile_pairs.h"
#include "devices/cpu/regions/tile_table.h"
#include "devices/cpu/unroll.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

using scalar::Mask;
using scalar::Vec;

// The first `count` values, less than a vector of them; nothing after them is touched.
template <class L>
HWY_INLINE Vec<L> load_first(const L* p, std::int64_t count) {
  const Tag<L> d;
#if HEARTH_NATIVE_MASKS
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#else
  HWY_ALIGN L buffer[kLanes<L>] = {};
  std::memcpy(buffer, p, static_cast<std::size_t>(count) * sizeof(L));
  return hn::Load(d, buffer);
#endif
}
template <class L>
HWY_INLINE void store_first(Vec<L> v, L* p, std::int64_t count) {
  const Tag<L> d;
#if HEARTH_NATIVE_MASKS
  hn::BlendedStore(v.raw, hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#else
  HWY_ALIGN L buffer[kLanes<L>];
  hn::Store(v.raw, d, buffer);
  std::memcpy(p, buffer, static_cast<std::size_t>(count) * sizeof(L));
#endif
}

// An argument of a step: a run of values, or one value for all.
template <class L, bool kSingle>
struct Argument {
  const L* p;
  Vec<L> value;
  explicit HWY_INLINE Argument(const std::byte* at) : p(reinterpret_cast<const L*>(at)) {
    if constexpr (kSingle) value = Vec<L>(*p);
  }
  HWY_INLINE Vec<L> at(std::int64_t i) const {
    if constexpr (kSingle) {
      return value;
    } else {
      return hn::LoadU(Tag<L>(), p + i);
    }
  }
  HWY_INLINE Vec<L> first(std::int64_t i, std::int64_t count) const {
    if constexpr (kSingle) {
      return value;
    } else {
      return load_first(p + i, count);
    }
  }
};

// A result: values, or a mask as 0 and 1 in i32.
template <class L>
HWY_INLINE void put(Vec<L> v, std::byte* target, std::int64_t i) {
  hn::StoreU(v.raw, Tag<L>(), reinterpret_cast<L*>(target) + i);
}
template <class L>
HWY_INLINE void put_first(Vec<L> v, std::byte* target, std::int64_t i, std::int64_t count,
                          bool spills) {
  if (spills) return put(v, target, i);
  store_first(v, reinterpret_cast<L*>(target) + i, count);
}
template <class L>
HWY_INLINE void put(Mask<L> m, std::byte* target, std::int64_t i) {
  auto* p = reinterpret_cast<std::uint32_t*>(target) + i;
  using W = std::make_unsigned_t<scalar::WordOf<L>>;
  const Tag<W> d;
  const auto ones = hn::IfThenElseZero(hn::RebindMask(d, m.raw), hn::Set(d, W{1}));
  if constexpr (sizeof(L) == 4) {
    hn::StoreU(ones, d, p);
  } else {
    const hn::Rebind<std::uint32_t, Tag<W>> half;
    hn::StoreU(hn::TruncateTo(half, ones), half, p);
  }
}
template <class L>
HWY_INLINE void put_first(Mask<L> m, std::byte* target, std::int64_t i, std::int64_t count,
                          bool spills) {
  if (spills) return put(m, target, i);
  alignas(64) std::int32_t buffer[kLanes<L>];
  put(m, reinterpret_cast<std::byte*>(buffer), 0);
  std::memcpy(reinterpret_cast<std::int32_t*>(target) + i, buffer,
              static_cast<std::size_t>(count) * 4);
}

// body.full(i) for whole vectors of L, body.part(i, count) for the rest.
template <class L, int kUnroll, class Body>
HWY_INLINE void sweep(std::int64_t n, const Body& body) {
  constexpr std::int64_t kWidth = kLanes<L>;
  std::int64_t i = 0;
  if constexpr (kUnroll > 1) {
    for (; i + kUnroll * kWidth <= n; i += kUnroll * kWidth) {
      HEARTH_UNROLL
      for (int u = 0; u < kUnroll; ++u) body.full(i + u * kWidth);
    }
  }
  for (; i + kWidth <= n; i += kWidth) body.full(i);
  if (i < n) body.part(i, n - i);
}

// What long formulas run on: as many vectors as the registers allow. One with clang: more take it
// ten times as long to compile.
#if defined(__clang__) || HWY_TARGET == HWY_SCALAR
inline constexpr int kWideVectors = 1;
template <class L>
using Wide = Vec<L>;
template <class L>
HWY_INLINE Wide<L> load_wide(const L* p) {
  return hn::LoadU(Tag<L>(), p);
}
template <class L>
HWY_INLINE void store_wide(Wide<L> v, L* p) {
  hn::StoreU(v.raw, Tag<L>(), p);
}
#elif HEARTH_NATIVE_MASKS
inline constexpr int kWideVectors = 4;
template <class L>
using Wide = scalar::Pair<scalar::Pair<Vec<L>>>;
template <class L>
HWY_INLINE Wide<L> load_wide(const L* p) {
  const auto at = [p](int i) { return p + i * kLanes<L>; };
  const Tag<L> d;
  return {{Vec<L>(hn::LoadU(d, at(0))), Vec<L>(hn::LoadU(d, at(1)))},
          {Vec<L>(hn::LoadU(d, at(2))), Vec<L>(hn::LoadU(d, at(3)))}};
}
template <class L>
HWY_INLINE void store_wide(Wide<L> v, L* p) {
  const Tag<L> d;
  hn::StoreU(v.a.a.raw, d, p);
  hn::StoreU(v.a.b.raw, d, p + kLanes<L>);
  hn::StoreU(v.b.a.raw, d, p + 2 * kLanes<L>);
  hn::StoreU(v.b.b.raw, d, p + 3 * kLanes<L>);
}
#else
inline constexpr int kWideVectors = 2;
template <class L>
using Wide = scalar::Pair<Vec<L>>;
template <class L>
HWY_INLINE Wide<L> load_wide(const L* p) {
  const Tag<L> d;
  return {Vec<L>(hn::LoadU(d, p)), Vec<L>(hn::LoadU(d, p + kLanes<L>))};
}
template <class L>
HWY_INLINE void store_wide(Wide<L> v, L* p) {
  const Tag<L> d;
  hn::StoreU(v.a.raw, d, p);
  hn::StoreU(v.b.raw, d, p + kLanes<L>);
}
#endif

// A formula long enough that its own code outweighs a copy: it is compiled once, and ends pass
// through a buffer.
template <class F, class L, int kArguments>
void map_wide(const TileStep& step, Slots slots, std::int64_t n) {
  constexpr std::int64_t kWidth = kLanes<L> * kWideVectors;
  const L* a = reinterpret_cast<const L*>(slots[step.a]);
  const L* b = kArguments > 1 ? reinterpret_cast<const L*>(slots[step.b]) : a;
  L* target = reinterpret_cast<L*>(slots[step.target]);
  HWY_ALIGN L ends[2][kWidth];
  HWY_ALIGN L result[kWidth];
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const std::int64_t count = n - i;
    const L* x = a + i;
    const L* y = b + i;
    L* to = target + i;
    if (HWY_UNLIKELY(count < kWidth)) {
      const auto bytes = static_cast<std::size_t>(count) * sizeof(L);
      // Whole, so that no lane takes a slow path for what was left in the buffer.
      for (std::int64_t k = 0; k < kWidth; ++k) ends[0][k] = ends[1][k] = L{1};
      std::memcpy(ends[0], x, bytes);
      if constexpr (kArguments > 1) std::memcpy(ends[1], y, bytes);
      x = ends[0];
      y = ends[1];
      to = result;
    }
    if constexpr (kArguments > 1) {
      store_wide<L>(F::apply(load_wide<L>(x), load_wide<L>(y)), to);
    } else {
      store_wide<L>(F::apply(load_wide<L>(x)), to);
    }
    if (HWY_UNLIKELY(count < kWidth)) {
      std::memcpy(target + i, result, static_cast<std::size_t>(count) * sizeof(L));
    }
  }
}

template <class F, class L, unsigned kSingles, int kUnroll>
void map1(const TileStep& step, Slots slots, std::int64_t n) {
  struct Body {
    Argument<L, false> a;
    std::byte* target;
    bool spills;
    HWY_INLINE void full(std::int64_t i) const { put(F::apply(a.at(i)), target, i); }
    HWY_INLINE void part(std::int64_t i, std::int64_t count) const {
      put_first(F::apply(a.first(i, count)), target, i, count, spills);
    }
  };
  sweep<L, kUnroll>(n, Body{Argument<L, false>(slots[step.a]), slots[step.target], step.spills});
}

template <class F, class L, unsigned kSingles, int kUnroll>
void map2(const TileStep& step, Slots slots, std::int64_t n) {
  using A = Argument<L, (kSingles & 1) != 0>;
  using B = Argument<L, (kSingles & 2) != 0>;
  struct Body {
    A a;
    B b;
    std::byte* target;
    bool spills;
    HWY_INLINE void full(std::int64_t i) const { put(F::apply(a.at(i), b.at(i)), target, i); }
    HWY_INLINE void part(std::int64_t i, std::int64_t count) const {
      put_first(F::apply(a.first(i, count), b.first(i, count)), target, i, count, spills);
    }
  };
  sweep<L, kUnroll>(n, Body{A(slots[step.a]), B(slots[step.b]), slots[step.target], step.spills});
}

template <class F, class L, unsigned kSingles, int kUnroll>
void map3(const TileStep& step, Slots slots, std::int64_t n) {
  using A = Argument<L, (kSingles & 1) != 0>;
  using B = Argument<L, (kSingles & 2) != 0>;
  using C = Argument<L, (kSingles & 4) != 0>;
  struct Body {
    A a;
    B b;
    C c;
    std::byte* target;
    bool spills;
    HWY_INLINE void full(std::int64_t i) const {
      put(F::apply(a.at(i), b.at(i), c.at(i)), target, i);
    }
    HWY_INLINE void part(std::int64_t i, std::int64_t count) const {
      put_first(F::apply(a.first(i, count), b.first(i, count), c.first(i, count)), target, i, count,
                spills);
    }
  };
  sweep<L, kUnroll>(n, Body{A(slots[step.a]), B(slots[step.b]), C(slots[step.c]),
                            slots[step.target], step.spills});
}

template <class F, class L, unsigned kSingles, int kUnroll>
void map4(const TileStep& step, Slots slots, std::int64_t n) {
  using A = Argument<L, false>;
  using B = Argument<L, (kSingles & 2) != 0>;
  using D = Argument<L, (kSingles & 8) != 0>;
  struct Body {
    A a;
    B b;
    A c;
    D d;
    std::byte* target;
    bool spills;
    HWY_INLINE void full(std::int64_t i) const {
      put(F::apply(a.at(i), b.at(i), c.at(i), d.at(i)), target, i);
    }
    HWY_INLINE void part(std::int64_t i, std::int64_t count) const {
      put_first(
          F::apply(a.first(i, count), b.first(i, count), c.first(i, count), d.first(i, count)),
          target, i, count, spills);
    }
  };
  sweep<L, kUnroll>(n, Body{A(slots[step.a]), B(slots[step.b]), A(slots[step.c]), D(slots[step.d]),
                            slots[step.target], step.spills});
}

template <class L>
HWY_INLINE Mask<L> load_condition(const std::int32_t* p) {
  using W = scalar::WordOf<L>;
  const Tag<W> d;
  if constexpr (sizeof(L) == 4) {
    return {hn::RebindMask(Tag<L>(), hn::Ne(hn::LoadU(d, p), hn::Zero(d)))};
  } else {
    const hn::Rebind<std::int32_t, Tag<W>> half;
    return {hn::RebindMask(Tag<L>(), hn::Ne(hn::PromoteTo(d, hn::LoadU(half, p)), hn::Zero(d)))};
  }
}

// The condition is i32 0 or 1, whatever the class of the values.
template <class L, unsigned kSingles>
void map_where(const TileStep& step, Slots slots, std::int64_t n) {
  using B = Argument<L, (kSingles & 2) != 0>;
  using C = Argument<L, (kSingles & 4) != 0>;
  struct Body {
    const std::int32_t* a;
    B b;
    C c;
    std::byte* target;
    bool spills;
    HWY_INLINE void full(std::int64_t i) const {
      put(scalar::where(load_condition<L>(a + i), b.at(i), c.at(i)), target, i);
    }
    HWY_INLINE void part(std::int64_t i, std::int64_t count) const {
      alignas(64) std::int32_t buffer[kLanes<L>] = {};
      std::memcpy(buffer, a + i, static_cast<std::size_t>(count) * 4);
      put_first(scalar::where(load_condition<L>(buffer), b.first(i, count), c.first(i, count)),
                target, i, count, spills);
    }
  };
  sweep<L, 2>(n, Body{reinterpret_cast<const std::int32_t*>(slots[step.a]), B(slots[step.b]),
                      C(slots[step.c]), slots[step.target], step.spills});
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // HEARTH_TILE_LOOPS_H
