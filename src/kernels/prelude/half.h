// half (IEEE 754 binary16) and bfloat (the upper half of a binary32) where there is neither:
// 16 bits that compute through float. + - * / are correctly rounded: float has more than twice
// their digits. Conversions from and to numbers are implicit, as in Metal. `condition ? h : 0` is
// ambiguous for these and is written `condition ? h : half(0)`.
//
// With HEARTH_HAS_FLOAT16 half is the compiler's _Float16, which may stand in unions and anonymous
// structs too; it must round after each operation, so that the bits are the same.
#pragma once

#include "kernels/prelude/core.h"

namespace metal {

// In constant expressions, and where the processor has no instruction.
HEARTH_INLINE constexpr ushort half_bits_by_integers(float value) {
  const uint word = as_type<uint>(value);
  const uint sign = (word >> 16) & 0x8000u;
  const uint magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return ushort(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return ushort(sign | 0x7c00u);  // rounds to at least 65520
  if (magnitude < 0x38800000u) {  // below the smallest normal: an addition rounds it
    return ushort(sign | (as_type<uint>(as_type<float>(magnitude) + 0.5f) - 0x3f000000u));
  }
  const uint rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return ushort(sign | ((rounded - 0x38000000u) >> 13));
}
HEARTH_INLINE constexpr float half_value_by_integers(ushort bits) {
  const uint sign = uint(bits & 0x8000u) << 16;
  const uint magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return as_type<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) {  // subnormal: the integer times 2^-24
    return as_type<float>(sign | as_type<uint>(float(magnitude) * 5.9604644775390625e-8f));
  }
  return as_type<float>(sign | ((magnitude << 13) + 0x38000000u));
}
HEARTH_INLINE constexpr ushort bfloat_bits_by_integers(float value) {
  const uint word = as_type<uint>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return ushort((word >> 16) | 0x40u);
  return ushort((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

#ifdef __CUDACC_RTC__
HEARTH_INLINE ushort half_bits_by_instruction(float value) {
  ushort bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
HEARTH_INLINE float half_value_by_instruction(ushort bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
HEARTH_INLINE ushort bfloat_bits_by_instruction(float value) {
#if __CUDA_ARCH__ >= 800
  ushort bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  return bfloat_bits_by_integers(value);
#endif
}
#define HEARTH_CONVERT(name, value) \
  __builtin_is_constant_evaluated() ? name##_by_integers(value) : name##_by_instruction(value)
#else
#define HEARTH_CONVERT(name, value) name##_by_integers(value)
#endif
HEARTH_INLINE constexpr ushort half_bits(float value) { return HEARTH_CONVERT(half_bits, value); }
HEARTH_INLINE constexpr float half_value(ushort bits) { return HEARTH_CONVERT(half_value, bits); }
HEARTH_INLINE constexpr ushort bfloat_bits(float value) {
  return HEARTH_CONVERT(bfloat_bits, value);
}
HEARTH_INLINE constexpr float bfloat_value(ushort bits) { return as_type<float>(uint(bits) << 16); }
#undef HEARTH_CONVERT

// With a float the result is a float, with an integer or one's own kind it is of the 16-bit type.
#define HEARTH_16_BIT_OPERATOR(type, op)                                                          \
  HEARTH_INLINE constexpr type operator op(type a, type b) { return type(float(a) op float(b)); } \
  template <class N, class = enable_if_t<is_integral_v<N>>>                                       \
  HEARTH_INLINE constexpr type operator op(type a, N b) {                                         \
    return a op type(b);                                                                          \
  }                                                                                               \
  template <class N, class = enable_if_t<is_integral_v<N>>>                                       \
  HEARTH_INLINE constexpr type operator op(N a, type b) {                                         \
    return type(a) op b;                                                                          \
  }                                                                                               \
  HEARTH_INLINE constexpr float operator op(type a, float b) { return float(a) op b; }            \
  HEARTH_INLINE constexpr float operator op(float a, type b) { return a op float(b); }            \
  template <class N>                                                                              \
  HEARTH_INLINE type& operator op##=(type & a, N b) {                                             \
    return a = type(a op b);                                                                      \
  }
#define HEARTH_16_BIT_COMPARISON(type, op)                                                  \
  HEARTH_INLINE constexpr bool operator op(type a, type b) { return float(a) op float(b); } \
  template <class N, class = enable_if_t<is_arithmetic_v<N>>>                               \
  HEARTH_INLINE constexpr bool operator op(type a, N b) {                                   \
    return float(a) op float(b);                                                            \
  }                                                                                         \
  template <class N, class = enable_if_t<is_arithmetic_v<N>>>                               \
  HEARTH_INLINE constexpr bool operator op(N a, type b) {                                   \
    return float(a) op float(b);                                                            \
  }
#define HEARTH_16_BIT_FLOAT(type, other)                                          \
  struct type {                                                                   \
    ushort bits;                                                                  \
    type() = default;                                                             \
    template <class N, class = enable_if_t<is_arithmetic_v<N>>>                   \
    HEARTH_INLINE constexpr type(N value) : bits(type##_bits(float(value))) {}    \
    explicit HEARTH_INLINE constexpr type(other value);                           \
    HEARTH_INLINE constexpr operator float() const { return type##_value(bits); } \
  };                                                                              \
  HEARTH_16_BIT_OPERATOR(type, +)                                                 \
  HEARTH_16_BIT_OPERATOR(type, -)                                                 \
  HEARTH_16_BIT_OPERATOR(type, *)                                                 \
  HEARTH_16_BIT_OPERATOR(type, /)                                                 \
  HEARTH_INLINE constexpr type operator-(type a) {                                \
    return as_type<type>(ushort(a.bits ^ 0x8000u));                               \
  }                                                                               \
  HEARTH_16_BIT_COMPARISON(type, ==)                                              \
  HEARTH_16_BIT_COMPARISON(type, !=)                                              \
  HEARTH_16_BIT_COMPARISON(type, <)                                               \
  HEARTH_16_BIT_COMPARISON(type, <=)                                              \
  HEARTH_16_BIT_COMPARISON(type, >)                                               \
  HEARTH_16_BIT_COMPARISON(type, >=)                                              \
  static_assert(sizeof(type) == 2 && alignof(type) == 2, "a 16-bit float has 16 bits");

#if !HEARTH_HAS_FLOAT16
HEARTH_16_BIT_FLOAT(half, bfloat)
#endif
HEARTH_16_BIT_FLOAT(bfloat, half)
#undef HEARTH_16_BIT_FLOAT
#undef HEARTH_16_BIT_COMPARISON
#undef HEARTH_16_BIT_OPERATOR
#if HEARTH_HAS_FLOAT16
static_assert(sizeof(half) == 2 && alignof(half) == 2, "a 16-bit float has 16 bits");
#define HEARTH_MIXED_OPERATOR(op)                                                              \
  HEARTH_INLINE constexpr float operator op(half a, bfloat b) { return float(a) op float(b); } \
  HEARTH_INLINE constexpr float operator op(bfloat a, half b) { return float(a) op float(b); }
HEARTH_MIXED_OPERATOR(+)
HEARTH_MIXED_OPERATOR(-)
HEARTH_MIXED_OPERATOR(*)
HEARTH_MIXED_OPERATOR(/)
#undef HEARTH_MIXED_OPERATOR
#else
HEARTH_INLINE constexpr half::half(bfloat value) : bits(half_bits(float(value))) {}
#endif
HEARTH_INLINE constexpr bfloat::bfloat(half value) : bits(bfloat_bits(float(value))) {}

#define HEARTH_16_BIT_LIMITS(type, kLow, kMin, kMax, kInfinity, kNan, kEpsilon) \
  template <>                                                                   \
  struct numeric_limits<type> {                                                 \
    static constexpr type of(ushort bits) { return as_type<type>(bits); }       \
    static constexpr type lowest() { return of(kLow); }                         \
    static constexpr type min() { return of(kMin); }                            \
    static constexpr type max() { return of(kMax); }                            \
    static constexpr type infinity() { return of(kInfinity); }                  \
    static constexpr type quiet_NaN() { return of(kNan); }                      \
    static constexpr type epsilon() { return of(kEpsilon); }                    \
  };
HEARTH_16_BIT_LIMITS(half, 0xfbff, 0x0400, 0x7bff, 0x7c00, 0x7e00, 0x1400)
HEARTH_16_BIT_LIMITS(bfloat, 0xff7f, 0x0080, 0x7f7f, 0x7f80, 0x7fc0, 0x3c00)
#undef HEARTH_16_BIT_LIMITS

}  // namespace metal

#undef __FLT16_MAX__
#define __FLT16_MAX__ (metal::numeric_limits<metal::half>::max())
#define __HALF_MAX__ __FLT16_MAX__
#define HALF_MAX __FLT16_MAX__
#define MAXHALF __FLT16_MAX__
