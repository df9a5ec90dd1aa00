// The vocabulary of kernels/formulas/scalar_ops.h over Highway vectors, and loops over tiles.
// Included once for each SIMD target, inside a file that foreach_target.h repeats.

#if defined(HEARTH_TILE_VECTOR_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_TILE_VECTOR_H
#undef HEARTH_TILE_VECTOR_H
#else
#define HEARTH_TILE_VECTOR_H
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "devices/cpu/regions/tile_table.h"
#include "devices/cpu/unroll.h"
#include "hwy/highway.h"

#undef HEARTH_NATIVE_MASKS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define HEARTH_NATIVE_MASKS 1
#else
#define HEARTH_NATIVE_MASKS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class L>
using Tag = hn::ScalableTag<L>;
template <class L>
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(HWY_LANES(L));

namespace scalar {

// g++ gives the friends of a class template the command line's target instead of the pragma's,
// which is seen where they are not inlined: hence HWY_ATTR.
template <class L>
struct Mask {
  hn::Mask<Tag<L>> raw;
  friend HWY_INLINE HWY_ATTR Mask operator&(Mask a, Mask b) { return {hn::And(a.raw, b.raw)}; }
  friend HWY_INLINE HWY_ATTR Mask operator|(Mask a, Mask b) { return {hn::Or(a.raw, b.raw)}; }
};

template <class L>
struct Vec {
  using Lane = L;
  hn::Vec<Tag<L>> raw;

  Vec() = default;
  HWY_INLINE Vec(hn::Vec<Tag<L>> v) : raw(v) {}  // NOLINT(google-explicit-constructor)
  template <class A>
    requires(std::is_arithmetic_v<A> && !(std::is_same_v<L, float> && std::is_same_v<A, double>))
  explicit HWY_INLINE Vec(A value) : raw(hn::Set(Tag<L>(), static_cast<L>(value))) {}

  friend HWY_INLINE HWY_ATTR Vec operator+(Vec a, Vec b) { return hn::Add(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Vec operator-(Vec a, Vec b) { return hn::Sub(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Vec operator*(Vec a, Vec b) { return hn::Mul(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Vec operator/(Vec a, Vec b) { return hn::Div(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Vec operator-(Vec a) {
    if constexpr (std::is_floating_point_v<L>) {
      return hn::Neg(a.raw);
    } else {
      return hn::Sub(hn::Zero(Tag<L>()), a.raw);
    }
  }
  friend HWY_INLINE HWY_ATTR Vec operator&(Vec a, Vec b) { return hn::And(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Vec operator|(Vec a, Vec b) { return hn::Or(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Vec operator^(Vec a, Vec b) { return hn::Xor(a.raw, b.raw); }
  friend HWY_INLINE HWY_ATTR Mask<L> operator==(Vec a, Vec b) { return {hn::Eq(a.raw, b.raw)}; }
  // True where either is NaN, which hn::Ne is not on every target.
  friend HWY_INLINE HWY_ATTR Mask<L> operator!=(Vec a, Vec b) {
#if HEARTH_NATIVE_MASKS
    if constexpr (std::is_same_v<L, float>) {
      return {{_mm512_cmp_ps_mask(a.raw.raw, b.raw.raw, _CMP_NEQ_UQ)}};
    } else if constexpr (std::is_same_v<L, double>) {
      return {{_mm512_cmp_pd_mask(a.raw.raw, b.raw.raw, _CMP_NEQ_UQ)}};
    }
#endif
    return {hn::Not(hn::Eq(a.raw, b.raw))};
  }
  friend HWY_INLINE HWY_ATTR Mask<L> operator<(Vec a, Vec b) { return {hn::Lt(a.raw, b.raw)}; }
  friend HWY_INLINE HWY_ATTR Mask<L> operator>(Vec a, Vec b) { return {hn::Gt(a.raw, b.raw)}; }
  friend HWY_INLINE HWY_ATTR Mask<L> operator<=(Vec a, Vec b) {
    if constexpr (std::is_floating_point_v<L>) {
      return {hn::Le(a.raw, b.raw)};
    } else {
      return {hn::Not(hn::Gt(a.raw, b.raw))};
    }
  }
  friend HWY_INLINE HWY_ATTR Mask<L> operator>=(Vec a, Vec b) { return b <= a; }
};

template <class T>
concept Any = requires { typename T::Lane; };
template <class T>
concept Real = Any<T> && std::is_floating_point_v<typename T::Lane>;
template <class T>
concept Real32 = Any<T> && std::is_same_v<typename T::Lane, float>;
template <class T>
concept Real64 = Any<T> && std::is_same_v<typename T::Lane, double>;
template <class T>
concept Int = Any<T> && std::is_integral_v<typename T::Lane>;

template <class L>
using WordOf = std::conditional_t<sizeof(L) == 4, std::int32_t, std::int64_t>;

template <class L>
HWY_INLINE Vec<L> where(Mask<L> m, Vec<L> a, Vec<L> b) {
  return hn::IfThenElse(m.raw, a.raw, b.raw);
}
template <Real T>
HWY_INLINE T abs(T x) {
  return hn::Abs(x.raw);
}
template <Real T>
HWY_INLINE T sqrt(T x) {
  return hn::Sqrt(x.raw);
}
template <Real T>
HWY_INLINE T floor(T x) {
  return hn::Floor(x.raw);
}
template <Real T>
HWY_INLINE T ceil(T x) {
  return hn::Ceil(x.raw);
}
template <Real T>
HWY_INLINE T rint(T x) {
  return hn::Round(x.raw);
}
template <Real T>
HWY_INLINE T copysign(T x, T sign_of) {
  return hn::CopySign(x.raw, sign_of.raw);
}
// Without hardware for it, f32 goes through f64: the same bits but for rare double roundings.
template <Real T>
HWY_INLINE T fma(T a, T b, T c) {
#if HWY_TARGET == HWY_SCALAR
  if constexpr (Real32<T>) {
    const double product = static_cast<double>(a.raw.raw) * static_cast<double>(b.raw.raw);
    return T(static_cast<float>(product + static_cast<double>(c.raw.raw)));
  } else {
    return T(std::fma(a.raw.raw, b.raw.raw, c.raw.raw));
  }
#endif
  return hn::MulAdd(a.raw, b.raw, c.raw);
}
// x86 returns the second operand where either is NaN; NEON returns NaN.
template <Real T>
HWY_INLINE T at_most(T limit, T x) {
  return hn::Min(limit.raw, x.raw);
}
template <Real T>
HWY_INLINE T at_least(T limit, T x) {
  return hn::Max(limit.raw, x.raw);
}

template <Real T>
HWY_INLINE Vec<WordOf<typename T::Lane>> bits(T x) {
  return hn::BitCast(Tag<WordOf<typename T::Lane>>(), x.raw);
}
HWY_INLINE Vec<float> real_of(Vec<std::int32_t> x) { return hn::BitCast(Tag<float>(), x.raw); }
HWY_INLINE Vec<double> real_of(Vec<std::int64_t> x) { return hn::BitCast(Tag<double>(), x.raw); }
HWY_INLINE Vec<float> to_real(Vec<std::int32_t> x) { return hn::ConvertTo(Tag<float>(), x.raw); }
HWY_INLINE Vec<double> to_real(Vec<std::int64_t> x) { return hn::ConvertTo(Tag<double>(), x.raw); }
template <Int T>
HWY_INLINE T same_bits(T, std::int64_t value) {
  return T(value);
}
template <int kBits, Int T>
HWY_INLINE T shift_left(T x) {
  return hn::ShiftLeft<kBits>(x.raw);
}
template <int kBits, Int T>
HWY_INLINE T shift_right(T x) {
  return hn::ShiftRight<kBits>(x.raw);
}
HWY_INLINE Vec<std::int32_t> to_word(Vec<float> x) { return hn::NearestInt(x.raw); }
HWY_INLINE Vec<std::int64_t> to_word(Vec<double> x) {
  return hn::ConvertTo(Tag<std::int64_t>(), x.raw);
}

HWY_INLINE Vec<float> power_of_word(Vec<std::int32_t> n) {
  return real_of(shift_left<23>(n + Vec<std::int32_t>(127)));
}
HWY_INLINE Vec<double> power_of_word(Vec<std::int64_t> n) {
  return real_of(shift_left<52>(n + Vec<std::int64_t>(1023)));
}
// In two halves where the hardware has no such operation; only the second product may round.
template <Real T>
HWY_INLINE T scale(T x, T n) {
#if HEARTH_NATIVE_MASKS
  if constexpr (Real32<T>) {
    return hn::Vec<Tag<float>>{_mm512_scalef_ps(x.raw.raw, n.raw.raw)};
  } else {
    return hn::Vec<Tag<double>>{_mm512_scalef_pd(x.raw.raw, n.raw.raw)};
  }
#else
  const auto word = to_word(n);
  const auto half = shift_right<1>(word);
  return x * power_of_word(half) * power_of_word(word - half);
#endif
}

template <Real T>
HWY_INLINE T power_of_two(T n) {
#if HEARTH_NATIVE_MASKS
  return scale(T(1.0f), n);
#else
  return power_of_word(to_word(n));
#endif
}
// Lane by lane, for what vectors cannot do.
template <class L, class F>
HWY_NOINLINE Vec<L> by_lane(Vec<L> a, Vec<L> b, F function) {
  HWY_ALIGN L x[kLanes<L>];
  HWY_ALIGN L y[kLanes<L>];
  const Tag<L> d;
  hn::Store(a.raw, d, x);
  hn::Store(b.raw, d, y);
  for (std::int64_t i = 0; i < kLanes<L>; ++i) x[i] = function(x[i], y[i]);
  return hn::Load(d, x);
}
template <class L>
HWY_INLINE bool any_true(Mask<L> m) {
  return !hn::AllFalse(Tag<L>(), m.raw);
}

template <Real T>
HWY_INLINE T sin_beyond(T y, T x, T limit) {
  const auto far = abs(x) > limit;
  if (HWY_UNLIKELY(any_true(far))) {
    using L = typename T::Lane;
    return where(far, by_lane(x, x, [](L v, L) { return std::sin(v); }), y);
  }
  return y;
}
template <Real T>
HWY_INLINE T cos_beyond(T y, T x, T limit) {
  const auto far = abs(x) > limit;
  if (HWY_UNLIKELY(any_true(far))) {
    using L = typename T::Lane;
    return where(far, by_lane(x, x, [](L v, L) { return std::cos(v); }), y);
  }
  return y;
}
template <class L>
HWY_INLINE L floored_remainder(L a, L b) {
  L r = std::fmod(a, b);
  if (r == 0) return std::copysign(r, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
template <Real T>
HWY_INLINE T remainder_beyond(T r, T x, T y, T q) {
  using L = typename T::Lane;
  // Below, the quotient is exact or one too high, and x - q y has no rounding error.
  const auto limit = T(sizeof(L) == 4 ? L(4194304) : L(2251799813685248));
  const auto fits = (abs(q) < limit) & (abs(y) < T(std::numeric_limits<L>::infinity()));
  if (HWY_UNLIKELY(!hn::AllTrue(Tag<L>(), fits.raw))) {
    return where(fits, r, by_lane(x, y, [](L a, L b) { return floored_remainder(a, b); }));
  }
  return r;
}
HWY_INLINE Vec<double> pow_platform(Vec<double> x, Vec<double> y) {
  return by_lane(x, y, [](double a, double b) { return std::pow(a, b); });
}

template <Int T>
HWY_INLINE T quotient(T a, T b) {
  using L = typename T::Lane;
  return by_lane(a, b, [](L x, L y) -> L {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<L>) {
      if (y == -1) return static_cast<L>(0 - static_cast<std::make_unsigned_t<L>>(x));
    }
    return x / y;
  });
}
template <Int T>
HWY_INLINE T modulus(T a, T b) {
  using L = typename T::Lane;
  return by_lane(a, b, [](L x, L y) -> L {
    if (y == 0) return 0;
    if constexpr (std::is_signed_v<L>) {
      if (y == -1) return 0;
      const L r = x % y;
      return r != 0 && (r < 0) != (y < 0) ? r + y : r;
    } else {
      return x % y;
    }
  });
}
template <Int T>
HWY_INLINE T power(T a, T b) {
  using L = typename T::Lane;
  return by_lane(a, b, [](L x, L y) -> L {
    using U = std::make_unsigned_t<L>;
    if constexpr (std::is_signed_v<L>) {
      if (y < 0) return x == 1 ? 1 : x == -1 ? ((y & 1) != 0 ? -1 : 1) : 0;
    }
    U result = 1;
    U base = static_cast<U>(x);
    for (U left = static_cast<U>(y); left != 0; left >>= 1) {
      if ((left & 1) != 0) result *= base;
      base *= base;
    }
    return static_cast<L>(result);
  });
}

// Two vectors together. A formula is one long chain of dependent operations; on pairs, two chains
// overlap.
template <class V>
struct Pair {
  using Lane = typename V::Lane;
  V a, b;

  Pair() = default;
  HWY_INLINE Pair(V first, V second) : a(first), b(second) {}
  template <class A>
    requires(std::is_arithmetic_v<A>)
  explicit HWY_INLINE Pair(A value) : a(value), b(a) {}
};
template <class M>
struct PairMask {
  M a, b;
};
HWY_INLINE auto paired(auto a, auto b) { return Pair<decltype(a)>(a, b); }
template <class L>
HWY_INLINE PairMask<Mask<L>> paired(Mask<L> a, Mask<L> b) {
  return {a, b};
}
template <class M>
HWY_INLINE PairMask<PairMask<M>> paired(PairMask<M> a, PairMask<M> b) {
  return {a, b};
}

#define HEARTH_PAIR_OPERATOR(op)                      \
  template <class V>                                  \
  HWY_INLINE auto operator op(Pair<V> x, Pair<V> y) { \
    return paired(x.a op y.a, x.b op y.b);            \
  }
HEARTH_PAIR_OPERATOR(+)
HEARTH_PAIR_OPERATOR(-)
HEARTH_PAIR_OPERATOR(*)
HEARTH_PAIR_OPERATOR(/)
HEARTH_PAIR_OPERATOR(&)
HEARTH_PAIR_OPERATOR(|)
HEARTH_PAIR_OPERATOR(^)
HEARTH_PAIR_OPERATOR(==)
HEARTH_PAIR_OPERATOR(!=)
HEARTH_PAIR_OPERATOR(<)
HEARTH_PAIR_OPERATOR(>)
HEARTH_PAIR_OPERATOR(<=)
HEARTH_PAIR_OPERATOR(>=)
#undef HEARTH_PAIR_OPERATOR
template <class V>
HWY_INLINE Pair<V> operator-(Pair<V> x) {
  return {-x.a, -x.b};
}
template <class M>
HWY_INLINE PairMask<M> operator&(PairMask<M> x, PairMask<M> y) {
  return {x.a & y.a, x.b & y.b};
}
template <class M>
HWY_INLINE PairMask<M> operator|(PairMask<M> x, PairMask<M> y) {
  return {x.a | y.a, x.b | y.b};
}
template <class M, class V>
HWY_INLINE Pair<V> where(PairMask<M> m, Pair<V> x, Pair<V> y) {
  return {where(m.a, x.a, y.a), where(m.b, x.b, y.b)};
}
#define HEARTH_PAIR_1(name)              \
  template <class V>                     \
  HWY_INLINE auto name(Pair<V> x) {      \
    return paired(name(x.a), name(x.b)); \
  }
#define HEARTH_PAIR_2(name)                       \
  template <class V>                              \
  HWY_INLINE Pair<V> name(Pair<V> x, Pair<V> y) { \
    return {name(x.a, y.a), name(x.b, y.b)};      \
  }
#define HEARTH_PAIR_3(name)                                  \
  template <class V>                                         \
  HWY_INLINE Pair<V> name(Pair<V> x, Pair<V> y, Pair<V> z) { \
    return {name(x.a, y.a, z.a), name(x.b, y.b, z.b)};       \
  }
HEARTH_PAIR_1(abs)
HEARTH_PAIR_1(sqrt)
HEARTH_PAIR_1(floor)
HEARTH_PAIR_1(ceil)
HEARTH_PAIR_1(rint)
HEARTH_PAIR_1(bits)
HEARTH_PAIR_1(real_of)
HEARTH_PAIR_1(to_real)
HEARTH_PAIR_1(power_of_two)
HEARTH_PAIR_2(copysign)
HEARTH_PAIR_2(at_most)
HEARTH_PAIR_2(at_least)
HEARTH_PAIR_2(scale)
HEARTH_PAIR_2(pow_platform)
HEARTH_PAIR_3(fma)
HEARTH_PAIR_3(sin_beyond)
HEARTH_PAIR_3(cos_beyond)
#undef HEARTH_PAIR_1
#undef HEARTH_PAIR_2
#undef HEARTH_PAIR_3
template <class V>
HWY_INLINE Pair<V> same_bits(Pair<V> x, std::int64_t value) {
  return {same_bits(x.a, value), same_bits(x.b, value)};
}
template <int kBits, class V>
HWY_INLINE Pair<V> shift_left(Pair<V> x) {
  return {shift_left<kBits>(x.a), shift_left<kBits>(x.b)};
}
template <int kBits, class V>
HWY_INLINE Pair<V> shift_right(Pair<V> x) {
  return {shift_right<kBits>(x.a), shift_right<kBits>(x.b)};
}
template <class V>
HWY_INLINE Pair<V> remainder_beyond(Pair<V> r, Pair<V> x, Pair<V> y, Pair<V> q) {
  return {remainder_beyond(r.a, x.a, y.a, q.a), remainder_beyond(r.b, x.b, y.b, q.b)};
}

#undef HEARTH_FN
#undef HEARTH_ANY
#undef HEARTH_REAL
#undef HEARTH_REAL32
#undef HEARTH_REAL64
#undef HEARTH_INT
#undef HEARTH_INF
#undef HEARTH_NAN
#undef HEARTH_HAS_F64
#define HEARTH_FN HWY_INLINE
#define HEARTH_ANY(T) Any T
#define HEARTH_REAL(T) Real T
#define HEARTH_REAL32(T) Real32 T
#define HEARTH_REAL64(T) Real64 T
#define HEARTH_INT(T) Int T
#define HEARTH_INF __builtin_huge_valf()
#define HEARTH_NAN __builtin_nanf("")
#define HEARTH_HAS_F64 1
#include "kernels/formulas/scalar_ops.h"

}  // namespace scalar

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

// What long formulas run on: as many vectors as the registers allow. With clang one, which takes a
// tenth of its time to compile.
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

#endif  // HEARTH_TILE_VECTOR_H
