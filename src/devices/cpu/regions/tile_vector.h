// Vectors of Highway's, and on them what kernels/formulas/scalar_ops.h asks of its values. Included
// once for each SIMD target, inside a file that foreach_target.h repeats.

#if defined(HEARTH_TILE_VECTOR_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_TILE_VECTOR_H
#undef HEARTH_TILE_VECTOR_H
#else
#define HEARTH_TILE_VECTOR_H
#endif

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

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
HWY_INLINE auto is_shift(T n) {
  return (n >= T(0)) & (n < T(8 * sizeof(typename T::Lane)));
}
template <Int T>
HWY_INLINE T shifted_left(T a, T n) {
  const auto fits = is_shift(n);
  return where(fits, T(hn::Shl(a.raw, where(fits, n, T(0)).raw)), T(0));
}
template <Int T>
HWY_INLINE T shifted_right(T a, T n) {
  const auto fits = is_shift(n);
  const T out = where(a < T(0), T(-1), T(0));
  return where(fits, T(hn::Shr(a.raw, where(fits, n, T(0)).raw)), out);
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

}  // namespace scalar
}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // HEARTH_TILE_VECTOR_H
