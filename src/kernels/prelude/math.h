// The functions of metal_math, metal_common and metal_integer that kernels use, over the platform's
// C library. Accuracy is the platform's; formulas that must give the same bits on every device are
// in kernels/formulas/formulas.h.
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

// Of the 16-bit floats and of vectors, over the function of float.
#define HEARTH_UNARY_PRECISE(name)                                       \
  HEARTH_INLINE half name(half x) { return half(name(float(x))); }       \
  HEARTH_INLINE bfloat name(bfloat x) { return bfloat(name(float(x))); } \
  template <class T, int N>                                              \
  HEARTH_INLINE vec<T, N> name(vec<T, N> x) {                            \
    for (int i = 0; i < N; ++i) x[i] = name(x[i]);                       \
    return x;                                                            \
  }                                                                      \
  namespace precise {                                                    \
  using metal::name;                                                     \
  }
#define HEARTH_UNARY_REST(name) \
  HEARTH_UNARY_PRECISE(name)    \
  namespace fast {              \
  using metal::name;            \
  }
#define HEARTH_BINARY_REST(name)                                                             \
  HEARTH_INLINE half name(half x, half y) { return half(name(float(x), float(y))); }         \
  HEARTH_INLINE bfloat name(bfloat x, bfloat y) { return bfloat(name(float(x), float(y))); } \
  template <class T, int N>                                                                  \
  HEARTH_INLINE vec<T, N> name(vec<T, N> x, vec<T, N> y) {                                   \
    for (int i = 0; i < N; ++i) x[i] = name(x[i], y[i]);                                     \
    return x;                                                                                \
  }                                                                                          \
  template <class T, int N>                                                                  \
  HEARTH_INLINE vec<T, N> name(vec<T, N> x, typename identity<T>::type y) {                  \
    return name(x, vec<T, N>(y));                                                            \
  }                                                                                          \
  template <class T, int N>                                                                  \
  HEARTH_INLINE vec<T, N> name(typename identity<T>::type x, vec<T, N> y) {                  \
    return name(vec<T, N>(x), y);                                                            \
  }                                                                                          \
  HEARTH_MIXED(name)                                                                         \
  namespace precise {                                                                        \
  using metal::name;                                                                         \
  }                                                                                          \
  namespace fast {                                                                           \
  using metal::name;                                                                         \
  }
// A 16-bit float with a float gives a float; so does an integer with a float.
#define HEARTH_MIXED(name)                                                  \
  HEARTH_INLINE float name(half x, float y) { return name(float(x), y); }   \
  HEARTH_INLINE float name(float x, half y) { return name(x, float(y)); }   \
  HEARTH_INLINE float name(bfloat x, float y) { return name(float(x), y); } \
  HEARTH_INLINE float name(float x, bfloat y) { return name(x, float(y)); } \
  template <class N, class = enable_if_t<is_integral_v<N>>>                 \
  HEARTH_INLINE float name(float x, N y) {                                  \
    return name(x, float(y));                                               \
  }                                                                         \
  template <class N, class = enable_if_t<is_integral_v<N>>>                 \
  HEARTH_INLINE float name(N x, float y) {                                  \
    return name(float(x), y);                                               \
  }

#define HEARTH_UNARY(name, c_name)                                        \
  HEARTH_INLINE float name(float x) { return HEARTH_LIBM(c_name##f)(x); } \
  HEARTH_DOUBLE_UNARY(name, c_name)                                       \
  HEARTH_UNARY_REST(name)
HEARTH_UNARY(exp, exp)
HEARTH_UNARY(log, log)
HEARTH_UNARY(log2, log2)
HEARTH_UNARY(log10, log10)
HEARTH_UNARY(sin, sin)
HEARTH_UNARY(cos, cos)
HEARTH_UNARY(tan, tan)
HEARTH_UNARY(asin, asin)
HEARTH_UNARY(acos, acos)
HEARTH_UNARY(atan, atan)
HEARTH_UNARY(asinh, asinh)
HEARTH_UNARY(acosh, acosh)
HEARTH_UNARY(atanh, atanh)
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

HEARTH_INLINE float exp2(float x) { return HEARTH_LIBM(exp2f)(x); }
HEARTH_DOUBLE_UNARY(exp2, exp2)
HEARTH_UNARY_PRECISE(exp2)
namespace fast {
template <class T>
HEARTH_INLINE T exp2(T x) {
  return metal::exp2(x);
}
// Results below the smallest normal number may be 0.
HEARTH_INLINE float exp2(float x) { return HEARTH_FAST_EXP2(x); }
}  // namespace fast

#define HEARTH_BINARY(name, c_name)                                                   \
  HEARTH_INLINE float name(float x, float y) { return HEARTH_LIBM(c_name##f)(x, y); } \
  HEARTH_DOUBLE_BINARY(name, c_name)                                                  \
  HEARTH_BINARY_REST(name)
HEARTH_BINARY(pow, pow)
HEARTH_BINARY(powr, pow)
HEARTH_BINARY(fdim, fdim)
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
// Both operations rounded correctly.
HEARTH_INLINE float rsqrt(float x) { return 1.0f / sqrt(x); }
HEARTH_INLINE float sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f; }
HEARTH_INLINE float fract(float x) { return min(x - floor(x), 0x1.fffffep-1f); }
HEARTH_INLINE float saturate(float x) { return min(max(x, 0.0f), 1.0f); }
HEARTH_UNARY_REST(rsqrt)
HEARTH_UNARY_REST(sign)
HEARTH_UNARY_REST(fract)
HEARTH_UNARY_REST(saturate)
HEARTH_INLINE float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
HEARTH_INLINE float divide(float x, float y) { return x / y; }
HEARTH_BINARY_REST(step)
HEARTH_BINARY_REST(divide)
#undef HEARTH_UNARY_REST
#undef HEARTH_BINARY_REST
#undef HEARTH_MIXED

HEARTH_INLINE float clamp(float x, float low, float high) { return min(max(x, low), high); }
HEARTH_INLINE float mix(float x, float y, float a) { return x + (y - x) * a; }
HEARTH_INLINE float smoothstep(float low, float high, float x) {
  const float t = saturate((x - low) / (high - low));
  return t * t * (3.0f - 2.0f * t);
}
#define HEARTH_TERNARY_REST(name)                                       \
  HEARTH_INLINE half name(half x, half y, half z) {                     \
    return half(name(float(x), float(y), float(z)));                    \
  }                                                                     \
  HEARTH_INLINE bfloat name(bfloat x, bfloat y, bfloat z) {             \
    return bfloat(name(float(x), float(y), float(z)));                  \
  }                                                                     \
  template <class T, int N>                                             \
  HEARTH_INLINE vec<T, N> name(vec<T, N> x, vec<T, N> y, vec<T, N> z) { \
    for (int i = 0; i < N; ++i) x[i] = name(x[i], y[i], z[i]);          \
    return x;                                                           \
  }                                                                     \
  namespace precise {                                                   \
  using metal::name;                                                    \
  }                                                                     \
  namespace fast {                                                      \
  using metal::name;                                                    \
  }
HEARTH_TERNARY_REST(fma)
HEARTH_TERNARY_REST(clamp)
HEARTH_TERNARY_REST(mix)
HEARTH_TERNARY_REST(smoothstep)
#undef HEARTH_TERNARY_REST
template <class T, int N>
HEARTH_INLINE vec<T, N> clamp(vec<T, N> x, typename identity<T>::type low,
                              typename identity<T>::type high) {
  return clamp(x, vec<T, N>(low), vec<T, N>(high));
}
template <class T, int N>
HEARTH_INLINE vec<T, N> mix(vec<T, N> x, vec<T, N> y, typename identity<T>::type a) {
  return mix(x, y, vec<T, N>(a));
}

// The sine; the cosine goes to `cosine`.
template <class T>
HEARTH_INLINE T sincos(T x, T& cosine) {
  cosine = cos(x);
  return sin(x);
}
HEARTH_INLINE float ldexp(float x, int exponent) { return HEARTH_LIBM(ldexpf)(x, exponent); }

HEARTH_INLINE bool isnan(float x) { return x != x; }
HEARTH_INLINE bool isinf(float x) { return fabs(x) == INFINITY; }
HEARTH_INLINE bool isfinite(float x) { return fabs(x) < INFINITY; }
HEARTH_INLINE bool signbit(float x) { return as_type<int>(x) < 0; }
#if HEARTH_HAS_F64
HEARTH_INLINE double fma(double x, double y, double z) { return HEARTH_LIBM(fma)(x, y, z); }
HEARTH_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
HEARTH_INLINE bool isnan(double x) { return x != x; }
HEARTH_INLINE bool isinf(double x) { return fabs(x) == INFINITY; }
HEARTH_INLINE bool isfinite(double x) { return fabs(x) < INFINITY; }
HEARTH_INLINE double clamp(double x, double low, double high) { return min(max(x, low), high); }
#endif

template <class T, int N>
HEARTH_INLINE T length(vec<T, N> x) {
  return sqrt(dot(x, x));
}
template <class T, int N>
HEARTH_INLINE vec<T, N> normalize(vec<T, N> x) {
  return x * rsqrt(dot(x, x));
}

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

HEARTH_INLINE ulong popcount(ulong x) { return ulong(popcount(uint(x)) + popcount(uint(x >> 32))); }
HEARTH_INLINE ulong mulhi(ulong a, ulong b) { return HEARTH_MULHIL(a, b); }
HEARTH_INLINE int mulhi(int a, int b) { return int((long(a) * b) >> 32); }
// Zero bits below the lowest that is set.
HEARTH_INLINE uint ctz(uint x) { return x == 0u ? 32u : 31u - clz(x & (0u - x)); }
HEARTH_INLINE ulong ctz(ulong x) { return x == 0u ? 64u : 63u - clz(x & (0u - x)); }
HEARTH_INLINE uint reverse_bits(uint x) {
  x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
  x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
  x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
  x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
  return (x >> 16) | (x << 16);
}
HEARTH_INLINE uint rotate(uint x, uint count) {
  return (x << (count & 31u)) | (x >> ((32u - count) & 31u));
}
// `bits` bits from bit `offset` on.
HEARTH_INLINE uint extract_bits(uint x, uint offset, uint bits) {
  return bits == 0u ? 0u : (x >> offset) & (0xffffffffu >> (32u - bits));
}
HEARTH_INLINE int extract_bits(int x, uint offset, uint bits) {
  return bits == 0u ? 0 : int(uint(x) << (32u - bits - offset)) >> (32u - bits);
}
HEARTH_INLINE uint insert_bits(uint base, uint x, uint offset, uint bits) {
  const uint mask = bits == 0u ? 0u : (0xffffffffu >> (32u - bits)) << offset;
  return (base & ~mask) | ((x << offset) & mask);
}

// b where `condition`, else a.
template <class T>
HEARTH_INLINE T select(T a, typename identity<T>::type b, bool condition) {
  return condition ? b : a;
}
template <class T, int N>
HEARTH_INLINE vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> condition) {
  for (int i = 0; i < N; ++i) a[i] = condition[i] ? b[i] : a[i];
  return a;
}

}  // namespace metal
