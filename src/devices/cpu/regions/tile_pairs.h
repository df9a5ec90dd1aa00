// Pairs of vectors, and the formulas of kernels/formulas/scalar_ops.h for vectors and for pairs.
// Included like tile_vector.h.

#if defined(HEARTH_TILE_PAIRS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_TILE_PAIRS_H
#undef HEARTH_TILE_PAIRS_H
#else
#define HEARTH_TILE_PAIRS_H
#endif

#include <cstdint>
#include <type_traits>

#include "devices/cpu/regions/tile_vector.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace scalar {

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
}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // HEARTH_TILE_PAIRS_H
