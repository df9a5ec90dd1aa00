// The formula of every elementwise op of ops/op_list.def, written once for every target: SIMD
// vectors, GPU kernels, plain floats. An op's function has the op's name.
//
// No include guard and no includes: a target defines the macros and the vocabulary and then
// includes this text inside its namespace.
//
//   HEARTH_FN                          what stands before a function
//   HEARTH_ANY(T), _REAL, _REAL32, _REAL64, _INT
//                                      the template parameter T, for which element types
//   HEARTH_INF, HEARTH_NAN             float constants
//   HEARTH_HAS_F64                     1 where f64 exists
//   + - * / unary-                     wrapping for integers; no / for integers
//   == != < <= > >= giving a mask; & | on masks; & | ^ on integers
//   T(0.5f) T(1)                       constants
//   where(mask, a, b)
//   abs sqrt floor ceil rint (ties to even) copysign fma
//   at_most(limit, x) at_least(limit, x)   min and max that keep a NaN x
//   scale(x, n)                        x 2^n for integral n, rounded once
//   power_of_two(n)                    for normal 2^n
//   bits(x) real_of(word)              the word of a float and back; to_real(word) converts
//   same_bits(word, c)                 integer constant
//   shift_left<n>(word) shift_right<n>(word)   arithmetic shifts
//   sin_beyond(y, x, limit) cos_beyond     y, or the right value where |x| > limit
//   remainder_beyond(r, x, y, q)       r, or the right value where |q| is too large or y infinite
//   pow_platform(x, y)                 f64 only
//   quotient(a, b) modulus(a, b)       of integers: truncating, floored; 0 for b = 0
//   shifted_left(a, n) shifted_right(a, n)  of integers, arithmetic; n negative or at least the
//                                      width shifts everything out
//
// By value; no branches, no ?:, no && and ||, no min/max/fmax; float literals end in f. Nothing is
// contracted: fma stands where it is meant.

// The quotient inside a formula, where the denominator is at least 1: a target may have a cheaper
// one for f32, and likewise for other formulas, of at most 4 ulp (kernels/formulas/approximate.h).
template <HEARTH_REAL(T)>
HEARTH_FN T ratio(T a, T b) {
  return a / b;
}

// The square root inside a formula, of what is not negative; likewise.
template <HEARTH_REAL(T)>
HEARTH_FN T root(T x) {
  return sqrt(x);
}

#include "kernels/formulas/scalar_math.h"
#if HEARTH_HAS_F64
#include "kernels/formulas/scalar_math64.h"
#endif
#include "kernels/formulas/scalar_inverse.h"

template <HEARTH_ANY(T)>
HEARTH_FN T neg(T x) {
  return -x;
}
// Of the smallest integer: itself.
template <HEARTH_INT(T)>
HEARTH_FN T abs(T x) {
  return where(x < T(0), -x, x);
}
// 0 for both zeros and for NaN.
template <HEARTH_ANY(T)>
HEARTH_FN T sign(T x) {
  return where(x > T(0), T(1), where(x < T(0), T(-1), T(0)));
}
template <HEARTH_ANY(T)>
HEARTH_FN T square(T x) {
  return x * x;
}
template <HEARTH_REAL(T)>
HEARTH_FN T rsqrt(T x) {
  return T(1.0f) / sqrt(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T recip(T x) {
  return T(1.0f) / x;
}
// e^-|x| is never more than 1, so neither end overflows or loses its small values.
template <HEARTH_REAL(T)>
HEARTH_FN T sigmoid(T x) {
  T e = exp(-abs(x));
  return ratio(where(x < T(0.0f), e, T(1.0f)), T(1.0f) + e);
}
template <HEARTH_REAL(T)>
HEARTH_FN T silu(T x) {
  T a = at_least(T(-800.0f), x);
  T e = exp(-abs(a));
  return a *
         (where(a < T(0.0f), e, T(1.0f)) / (T(1.0f) + e));  // exact, for the product rounds again
}
template <HEARTH_REAL(T)>
HEARTH_FN T tan(T x) {
  return sin(x) / cos(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T round(T x) {
  return rint(x);
}
template <HEARTH_REAL(T)>
HEARTH_FN T trunc(T x) {
  return where(x < T(0.0f), ceil(x), floor(x));
}
template <HEARTH_INT(T)>
HEARTH_FN T floor(T x) {
  return x;
}
template <HEARTH_INT(T)>
HEARTH_FN T ceil(T x) {
  return x;
}
template <HEARTH_INT(T)>
HEARTH_FN T round(T x) {
  return x;
}
// NaN stays NaN.
template <HEARTH_ANY(T)>
HEARTH_FN T relu(T x) {
  return where(x <= T(0), T(0), x);
}

template <HEARTH_ANY(T)>
HEARTH_FN T add(T a, T b) {
  return a + b;
}
template <HEARTH_ANY(T)>
HEARTH_FN T sub(T a, T b) {
  return a - b;
}
template <HEARTH_ANY(T)>
HEARTH_FN T mul(T a, T b) {
  return a * b;
}
template <HEARTH_REAL(T)>
HEARTH_FN T div(T a, T b) {
  return a / b;
}
// Truncates; x / 0 is 0; the smallest integer / -1 wraps to itself.
template <HEARTH_INT(T)>
HEARTH_FN T div(T a, T b) {
  return quotient(a, b);
}
// Floored, with the sign of the divisor, exact for any quotient; a zero has the divisor's sign.
template <HEARTH_REAL(T)>
HEARTH_FN T remainder(T a, T b) {
  T q = floor(a / b);
  T r = fma(-q, b, a);
  r = where(((r < T(0.0f)) & (b > T(0.0f))) | ((r > T(0.0f)) & (b < T(0.0f))), r + b, r);
  r = where(r == T(0.0f), copysign(T(0.0f), b), r);
  return remainder_beyond(r, a, b, q);
}
// x remainder 0 is 0.
template <HEARTH_INT(T)>
HEARTH_FN T remainder(T a, T b) {
  return modulus(a, b);
}
// Truncated, with the sign of the dividend, exact for any quotient.
template <HEARTH_REAL(T)>
HEARTH_FN T fmod(T a, T b) {
  return copysign(remainder(abs(a), abs(b)), a);
}
// x fmod 0 is 0.
template <HEARTH_INT(T)>
HEARTH_FN T fmod(T a, T b) {
  return where(b == T(0), T(0), sub(a, mul(quotient(a, b), b)));
}
// The floor of the exact quotient below 2^22, in f64 below 2^51; beyond, within 2 ulp of it. What
// the remainder leaves of a is a multiple of b, and its quotient is nearest to a whole number.
template <HEARTH_REAL(T)>
HEARTH_FN T floor_divide(T a, T b) {
  T r = fmod(a, b);
  T q = (a - r) / b;
  q = where(((r < T(0.0f)) & (b > T(0.0f))) | ((r > T(0.0f)) & (b < T(0.0f))), q - T(1.0f), q);
  T plain = a / b;
  q = where(q == T(0.0f), copysign(T(0.0f), plain), rint(q));
  return where(b == T(0.0f), plain, q);
}
// x / 0 is 0; the smallest integer / -1 wraps to itself.
template <HEARTH_INT(T)>
HEARTH_FN T floor_divide(T a, T b) {
  T q = quotient(a, b);
  T r = sub(a, mul(q, b));
  q = where((r != T(0)) & ((r ^ b) < T(0)), sub(q, T(1)), q);
  return where(b == T(0), T(0), q);
}
// Wraps; a negative exponent truncates: 0 unless the base is 1 or -1.
template <HEARTH_INT(T)>
HEARTH_FN T pow(T a, T b) {
  return power(a, b);
}
// NaN if either is.
template <HEARTH_ANY(T)>
HEARTH_FN T maximum(T a, T b) {
  return where((a > b) | (a != a), a, b);
}
template <HEARTH_ANY(T)>
HEARTH_FN T minimum(T a, T b) {
  return where((a < b) | (a != a), a, b);
}

template <HEARTH_ANY(T)>
HEARTH_FN auto equal(T a, T b) {
  return a == b;
}
template <HEARTH_ANY(T)>
HEARTH_FN auto not_equal(T a, T b) {
  return a != b;
}
template <HEARTH_ANY(T)>
HEARTH_FN auto less(T a, T b) {
  return a < b;
}
template <HEARTH_ANY(T)>
HEARTH_FN auto less_equal(T a, T b) {
  return a <= b;
}
template <HEARTH_ANY(T)>
HEARTH_FN auto greater(T a, T b) {
  return a > b;
}
template <HEARTH_ANY(T)>
HEARTH_FN auto greater_equal(T a, T b) {
  return a >= b;
}
template <HEARTH_INT(T)>
HEARTH_FN auto signbit(T x) {
  return x < T(0);
}
template <HEARTH_REAL(T)>
HEARTH_FN auto signbit(T x) {
  return copysign(T(1.0f), x) < T(0.0f);
}
template <HEARTH_ANY(T)>
HEARTH_FN auto is_nan(T x) {
  return x != x;
}

template <HEARTH_REAL(T)>
HEARTH_FN auto is_inf(T x) {
  return abs(x) == T(HEARTH_INF);
}
template <HEARTH_REAL(T)>
HEARTH_FN auto is_finite(T x) {
  return abs(x) < T(HEARTH_INF);
}

template <HEARTH_INT(T)>
HEARTH_FN T bitwise_and(T a, T b) {
  return a & b;
}
template <HEARTH_INT(T)>
HEARTH_FN T bitwise_or(T a, T b) {
  return a | b;
}
template <HEARTH_INT(T)>
HEARTH_FN T bitwise_xor(T a, T b) {
  return a ^ b;
}
template <HEARTH_INT(T)>
HEARTH_FN T bitwise_not(T x) {
  return x ^ T(-1);
}
// By a count outside of [0, width): 0.
template <HEARTH_INT(T)>
HEARTH_FN T bitwise_left_shift(T a, T b) {
  return shifted_left(a, b);
}
// Arithmetic for signed integers. By a count outside of [0, width): 0, or -1 of a negative a.
template <HEARTH_INT(T)>
HEARTH_FN T bitwise_right_shift(T a, T b) {
  return shifted_right(a, b);
}

// Bools are the integers 0 and 1.
template <HEARTH_INT(T)>
HEARTH_FN T logical_and(T a, T b) {
  return a & b;
}
template <HEARTH_INT(T)>
HEARTH_FN T logical_or(T a, T b) {
  return a | b;
}
template <HEARTH_INT(T)>
HEARTH_FN T logical_xor(T a, T b) {
  return a ^ b;
}
template <HEARTH_INT(T)>
HEARTH_FN T logical_not(T a) {
  return a ^ T(1);
}

// The upper bound first, then the lower: where they cross, the lower wins. NaN stays NaN.
template <HEARTH_ANY(T)>
HEARTH_FN T clamp(T x, T low, T high) {
  T y = where(x > high, high, x);
  return where(y < low, low, y);
}
template <HEARTH_REAL(T)>
HEARTH_FN T lerp(T a, T b, T t) {
  return a + (b - a) * t;
}
