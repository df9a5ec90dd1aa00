// bfloat for Metal's language before 3.1 (macOS 14), which has none: the upper half of a float that
// computes through float, as the other targets have it (half.h). It goes in front of a text for
// such a compiler, and defines the text's bfloat and as_type.
//
// Rounds to nearest even, NaN stays NaN and is quiet. With a float the result of + - * / is a
// float, with an integer or its own kind a bfloat. Functions of metal take it as a float. There is
// no simdgroup_matrix of it, no numeric_limits, and `condition ? b : 0` is ambiguous.
#if __METAL_VERSION__ < 310
#ifndef __OPENCL_CPP_VERSION__  // lint.h comes with its own
#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
#endif

constexpr inline ushort hearth_bfloat_bits(uint word) {
  return (word & 0x7fffffffu) > 0x7f800000u ? ushort((word >> 16) | 0x40u)
                                            : ushort((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

// Metal wants a constructor for every address space that has variables, and a member function for
// every one that it is called in.
struct hearth_bfloat {
  ushort bits;
  hearth_bfloat() = default;
  hearth_bfloat() threadgroup = default;
  constexpr inline hearth_bfloat(float value) : bits(hearth_bfloat_bits(as_type<uint>(value))) {}
  constexpr inline operator float() const thread { return as_type<float>(uint(bits) << 16); }
  constexpr inline operator float() const device { return as_type<float>(uint(bits) << 16); }
  constexpr inline operator float() const threadgroup { return as_type<float>(uint(bits) << 16); }
  constexpr inline operator float() const constant { return as_type<float>(uint(bits) << 16); }
};

inline hearth_bfloat hearth_bfloat_of(ushort bits) {
  hearth_bfloat made;
  made.bits = bits;
  return made;
}

#define HEARTH_BFLOAT_WITH_INTEGER(op, N)                                                         \
  inline hearth_bfloat operator op(hearth_bfloat a, N b) { return a op hearth_bfloat(float(b)); } \
  inline hearth_bfloat operator op(N a, hearth_bfloat b) { return hearth_bfloat(float(a)) op b; }
#define HEARTH_BFLOAT_OPERATOR(op)                                                       \
  inline hearth_bfloat operator op(hearth_bfloat a, hearth_bfloat b) {                   \
    return hearth_bfloat(float(a) op float(b));                                          \
  }                                                                                      \
  inline float operator op(hearth_bfloat a, float b) { return float(a) op b; }           \
  inline float operator op(float a, hearth_bfloat b) { return a op float(b); }           \
  HEARTH_BFLOAT_WITH_INTEGER(op, int)                                                    \
  HEARTH_BFLOAT_WITH_INTEGER(op, uint)                                                   \
  HEARTH_BFLOAT_WITH_INTEGER(op, long)                                                   \
  HEARTH_BFLOAT_WITH_INTEGER(op, ulong)                                                  \
  template <class N>                                                                     \
  inline thread hearth_bfloat& operator op##=(thread hearth_bfloat & a, N b) {           \
    a = hearth_bfloat(a op b);                                                           \
    return a;                                                                            \
  }                                                                                      \
  template <class N>                                                                     \
  inline device hearth_bfloat& operator op##=(device hearth_bfloat & a, N b) {           \
    a = hearth_bfloat(hearth_bfloat(a) op b);                                            \
    return a;                                                                            \
  }                                                                                      \
  template <class N>                                                                     \
  inline threadgroup hearth_bfloat& operator op##=(threadgroup hearth_bfloat & a, N b) { \
    a = hearth_bfloat(hearth_bfloat(a) op b);                                            \
    return a;                                                                            \
  }
HEARTH_BFLOAT_OPERATOR(+)
HEARTH_BFLOAT_OPERATOR(-)
HEARTH_BFLOAT_OPERATOR(*)
HEARTH_BFLOAT_OPERATOR(/)
#undef HEARTH_BFLOAT_OPERATOR
#undef HEARTH_BFLOAT_WITH_INTEGER
inline hearth_bfloat operator-(hearth_bfloat a) {
  return hearth_bfloat_of(ushort(a.bits ^ 0x8000u));
}

#define HEARTH_BFLOAT_SHUFFLE(name)                             \
  inline hearth_bfloat name(hearth_bfloat value, ushort lane) { \
    return hearth_bfloat_of(metal::name(value.bits, lane));     \
  }
HEARTH_BFLOAT_SHUFFLE(simd_shuffle)
HEARTH_BFLOAT_SHUFFLE(simd_broadcast)
HEARTH_BFLOAT_SHUFFLE(simd_shuffle_xor)
HEARTH_BFLOAT_SHUFFLE(simd_shuffle_up)
HEARTH_BFLOAT_SHUFFLE(simd_shuffle_down)
#undef HEARTH_BFLOAT_SHUFFLE
#define HEARTH_BFLOAT_REDUCTION(name) \
  inline hearth_bfloat name(hearth_bfloat value) { return metal::name(float(value)); }
HEARTH_BFLOAT_REDUCTION(simd_sum)
HEARTH_BFLOAT_REDUCTION(simd_product)
HEARTH_BFLOAT_REDUCTION(simd_min)
HEARTH_BFLOAT_REDUCTION(simd_max)
#undef HEARTH_BFLOAT_REDUCTION

// Metal casts the bits of its own types only.
template <class D, class S>
struct hearth_cast {
  static constexpr inline D of(S value) { return as_type<D>(value); }
};
template <class S>
struct hearth_cast<hearth_bfloat, S> {
  static inline hearth_bfloat of(S value) { return hearth_bfloat_of(as_type<ushort>(value)); }
};
template <class D>
struct hearth_cast<D, hearth_bfloat> {
  static inline D of(hearth_bfloat value) { return as_type<D>(value.bits); }
};
template <>
struct hearth_cast<hearth_bfloat, hearth_bfloat> {
  static inline hearth_bfloat of(hearth_bfloat value) { return value; }
};
template <class D, class S>
constexpr inline D hearth_as_type(S value) {
  return hearth_cast<D, S>::of(value);
}

#define bfloat hearth_bfloat
#define as_type hearth_as_type

#endif
