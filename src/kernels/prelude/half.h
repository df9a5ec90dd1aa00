// half (IEEE 754 binary16) and bfloat (the upper half of a binary32) where there is neither:
// 16 bits that compute through float. + - * / are correctly rounded: float has more than twice
// their digits. Conversions are explicit, and go through float: half(float(i)).
#pragma once

#include "kernels/prelude/core.h"

namespace metal {

#ifdef __CUDACC_RTC__
HEARTH_INLINE ushort half_bits(float value) {
  ushort bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
HEARTH_INLINE float half_value(ushort bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
#else
HEARTH_INLINE ushort half_bits(float value) {
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
HEARTH_INLINE float half_value(ushort bits) {
  const uint sign = uint(bits & 0x8000u) << 16;
  const uint magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return as_type<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x400u) {  // subnormal: the integer times 2^-24
    return as_type<float>(sign | as_type<uint>(float(magnitude) * 5.9604644775390625e-8f));
  }
  return as_type<float>(sign | ((magnitude << 13) + 0x38000000u));
}
#endif

HEARTH_INLINE ushort bfloat_bits(float value) {
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
  ushort bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
#else
  const uint word = as_type<uint>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return ushort((word >> 16) | 0x40u);
  return ushort((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
}
HEARTH_INLINE float bfloat_value(ushort bits) { return as_type<float>(uint(bits) << 16); }

#define HEARTH_16_BIT_FLOAT(type)                                                          \
  struct type {                                                                            \
    ushort bits;                                                                           \
    type() = default;                                                                      \
    explicit HEARTH_INLINE type(float value) : bits(type##_bits(value)) {}                 \
    template <class N>                                                                     \
    explicit HEARTH_INLINE operator N() const {                                            \
      return N(type##_value(bits));                                                        \
    }                                                                                      \
  };                                                                                       \
  HEARTH_INLINE type operator+(type a, type b) { return type(float(a) + float(b)); }       \
  HEARTH_INLINE type operator-(type a, type b) { return type(float(a) - float(b)); }       \
  HEARTH_INLINE type operator*(type a, type b) { return type(float(a) * float(b)); }       \
  HEARTH_INLINE type operator/(type a, type b) { return type(float(a) / float(b)); }       \
  HEARTH_INLINE type operator-(type a) { return as_type<type>(ushort(a.bits ^ 0x8000u)); } \
  HEARTH_INLINE type& operator+=(type& a, type b) { return a = a + b; }                    \
  HEARTH_INLINE type& operator-=(type& a, type b) { return a = a - b; }                    \
  HEARTH_INLINE type& operator*=(type& a, type b) { return a = a * b; }                    \
  HEARTH_INLINE type& operator/=(type& a, type b) { return a = a / b; }                    \
  HEARTH_INLINE bool operator==(type a, type b) { return float(a) == float(b); }           \
  HEARTH_INLINE bool operator!=(type a, type b) { return float(a) != float(b); }           \
  HEARTH_INLINE bool operator<(type a, type b) { return float(a) < float(b); }             \
  HEARTH_INLINE bool operator<=(type a, type b) { return float(a) <= float(b); }           \
  HEARTH_INLINE bool operator>(type a, type b) { return float(a) > float(b); }             \
  HEARTH_INLINE bool operator>=(type a, type b) { return float(a) >= float(b); }           \
  static_assert(sizeof(type) == 2 && alignof(type) == 2, "a 16-bit float has 16 bits");

HEARTH_16_BIT_FLOAT(half)
HEARTH_16_BIT_FLOAT(bfloat)
#undef HEARTH_16_BIT_FLOAT

template <>
struct numeric_limits<half> {
  static HEARTH_INLINE half lowest() { return as_type<half>(ushort(0xfbff)); }
  static HEARTH_INLINE half max() { return as_type<half>(ushort(0x7bff)); }
  static HEARTH_INLINE half infinity() { return as_type<half>(ushort(0x7c00)); }
};
template <>
struct numeric_limits<bfloat> {
  static HEARTH_INLINE bfloat lowest() { return as_type<bfloat>(ushort(0xff7f)); }
  static HEARTH_INLINE bfloat max() { return as_type<bfloat>(ushort(0x7f7f)); }
  static HEARTH_INLINE bfloat infinity() { return as_type<bfloat>(ushort(0x7f80)); }
};

}  // namespace metal
