// The functions of metal_math, metal_common and metal_integer that kernels use, over the platform's
// C library. Accuracy is the platform's; formulas that must give the same bits on every device are
// in kernels/formulas.h.
#pragma once

#include "kernels/prelude/vec.h"

namespace metal {

#if HEARTH_HAS_F64
#define HEARTH_DOUBLE_UNARY(name, c_name) \
  HEARTH_INLINE double name(double x) { return HEARTH_LIBM(c_name)(x); }
#define HEARTH_DOUBLE_BINARY(name, c_name) \
  HEARTH_INLINE double name(double x, double y) { return HEARTH_LIBM(c_name)(x, y); }
#else
#define HEARTH_DOUBLE_UNARY(name, c_name)
#define HEARTH_DOUBLE_BINARY(name, c_name)
#endif

#define HEARTH_UNARY(name, c_name)                                        \
  HEARTH_INLINE float name(float x) { return HEARTH_LIBM(c_name##f)(x); } \
  template <int N>                                                        \
  HEARTH_INLINE vec<float, N> name(vec<float, N> x) {                     \
    for (int i = 0; i < N; ++i) x[i] = name(x[i]);                        \
    return x;                                                             \
  }                                                                       \
  HEARTH_DOUBLE_UNARY(name, c_name)
HEARTH_UNARY(exp, exp)
HEARTH_UNARY(exp2, exp2)
HEARTH_UNARY(log, log)
HEARTH_UNARY(log2, log2)
HEARTH_UNARY(log10, log10)
HEARTH_UNARY(sin, sin)
HEARTH_UNARY(cos, cos)
HEARTH_UNARY(tan, tan)
HEARTH_UNARY(asin, asin)
HEARTH_UNARY(acos, acos)
HEARTH_UNARY(atan, atan)
HEARTH_UNARY(sinh, sinh)
HEARTH_UNARY(cosh, cosh)
HEARTH_UNARY(tanh, tanh)
HEARTH_UNARY(sqrt, sqrt)
HEARTH_UNARY(floor, floor)
HEARTH_UNARY(ceil, ceil)
HEARTH_UNARY(trunc, trunc)
HEARTH_UNARY(rint, rint)
HEARTH_UNARY(round, round)
HEARTH_UNARY(fabs, fabs)
HEARTH_UNARY(abs, fabs)
#undef HEARTH_UNARY

#define HEARTH_BINARY(name, c_name)                                                   \
  HEARTH_INLINE float name(float x, float y) { return HEARTH_LIBM(c_name##f)(x, y); } \
  template <int N>                                                                    \
  HEARTH_INLINE vec<float, N> name(vec<float, N> x, vec<float, N> y) {                \
    for (int i = 0; i < N; ++i) x[i] = name(x[i], y[i]);                              \
    return x;                                                                         \
  }                                                                                   \
  HEARTH_DOUBLE_BINARY(name, c_name)
HEARTH_BINARY(pow, pow)
HEARTH_BINARY(fmod, fmod)
HEARTH_BINARY(atan2, atan2)
HEARTH_BINARY(copysign, copysign)
// Where one is NaN, the other.
HEARTH_BINARY(fmin, fmin)
HEARTH_BINARY(fmax, fmax)
HEARTH_BINARY(min, fmin)
HEARTH_BINARY(max, fmax)
#undef HEARTH_BINARY
#undef HEARTH_DOUBLE_UNARY
#undef HEARTH_DOUBLE_BINARY

// Rounded once.
HEARTH_INLINE float fma(float x, float y, float z) { return HEARTH_LIBM(fmaf)(x, y, z); }
template <int N>
HEARTH_INLINE vec<float, N> fma(vec<float, N> x, vec<float, N> y, vec<float, N> z) {
  for (int i = 0; i < N; ++i) x[i] = fma(x[i], y[i], z[i]);
  return x;
}
// Both operations rounded correctly.
HEARTH_INLINE float rsqrt(float x) { return 1.0f / sqrt(x); }
template <int N>
HEARTH_INLINE vec<float, N> rsqrt(vec<float, N> x) {
  for (int i = 0; i < N; ++i) x[i] = rsqrt(x[i]);
  return x;
}
HEARTH_INLINE bool isnan(float x) { return x != x; }
HEARTH_INLINE bool isinf(float x) { return fabs(x) == INFINITY; }
HEARTH_INLINE bool isfinite(float x) { return fabs(x) < INFINITY; }
HEARTH_INLINE bool signbit(float x) { return as_type<int>(x) < 0; }
HEARTH_INLINE float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }
HEARTH_INLINE float clamp(float x, float low, float high) { return min(max(x, low), high); }
#if HEARTH_HAS_F64
HEARTH_INLINE double fma(double x, double y, double z) { return HEARTH_LIBM(fma)(x, y, z); }
HEARTH_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
HEARTH_INLINE bool isnan(double x) { return x != x; }
HEARTH_INLINE bool isinf(double x) { return fabs(x) == INFINITY; }
HEARTH_INLINE bool isfinite(double x) { return fabs(x) < INFINITY; }
HEARTH_INLINE double clamp(double x, double low, double high) { return min(max(x, low), high); }
#endif

#define HEARTH_16_BIT_MIN_MAX(T)                                       \
  HEARTH_INLINE T min(T a, T b) { return T(min(float(a), float(b))); } \
  HEARTH_INLINE T max(T a, T b) { return T(max(float(a), float(b))); }
HEARTH_16_BIT_MIN_MAX(half)
HEARTH_16_BIT_MIN_MAX(bfloat)
#undef HEARTH_16_BIT_MIN_MAX

#define HEARTH_INTEGER_FUNCTIONS(T)                       \
  HEARTH_INLINE T min(T a, T b) { return b < a ? b : a; } \
  HEARTH_INLINE T max(T a, T b) { return a < b ? b : a; } \
  HEARTH_INLINE T clamp(T x, T low, T high) { return min(max(x, low), high); }
HEARTH_INTEGER_FUNCTIONS(char)
HEARTH_INTEGER_FUNCTIONS(uchar)
HEARTH_INTEGER_FUNCTIONS(short)
HEARTH_INTEGER_FUNCTIONS(ushort)
HEARTH_INTEGER_FUNCTIONS(int)
HEARTH_INTEGER_FUNCTIONS(uint)
HEARTH_INTEGER_FUNCTIONS(long)
HEARTH_INTEGER_FUNCTIONS(ulong)
#undef HEARTH_INTEGER_FUNCTIONS
HEARTH_INLINE int abs(int x) { return x < 0 ? int(0u - uint(x)) : x; }
HEARTH_INLINE long abs(long x) { return x < 0 ? long(0ul - ulong(x)) : x; }

// The upper half of the product.
HEARTH_INLINE uint mulhi(uint a, uint b) { return uint((ulong(a) * b) >> 32); }
// Leading zero bits, and bits that are set.
HEARTH_INLINE uint clz(uint x) { return x == 0u ? 32u : uint(HEARTH_CLZ(x)); }
HEARTH_INLINE ulong clz(ulong x) { return x == 0u ? 64u : ulong(HEARTH_CLZL(x)); }
HEARTH_INLINE uint popcount(uint x) { return uint(HEARTH_POPCOUNT(x)); }

// b where `condition`, else a.
template <class T>
HEARTH_INLINE T select(T a, T b, bool condition) {
  return condition ? b : a;
}

}  // namespace metal
