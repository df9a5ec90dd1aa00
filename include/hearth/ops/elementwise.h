// Arithmetic, functions, comparison, logic and choice, element by element. Rules for all functions:
// hearth/ops.h.
#pragma once

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Arithmetic, element by element
// Numeric dtypes (not bool).

HEARTH_API Array add(const Array& a, const Array& b);
HEARTH_API Array sub(const Array& a, const Array& b);
HEARTH_API Array mul(const Array& a, const Array& b);
// Integers truncate towards zero; division of an integer by 0 gives 0.
HEARTH_API Array div(const Array& a, const Array& b);
// Has the sign of the divisor, as in Python: remainder(-3, 2) = 1. Integer remainder by 0 gives 0.
HEARTH_API Array remainder(const Array& a, const Array& b);
// Has the sign of the dividend, as in C: fmod(-3, 2) = -1. Integer fmod by 0 gives 0.
HEARTH_API Array fmod(const Array& a, const Array& b);
// The largest whole number not above a / b, to the last bits of quotients that are beyond whole
// numbers of the dtype; a / b where a float b is 0, 0 where an integer is. Gradient 0.
HEARTH_API Array floor_divide(const Array& a, const Array& b);
// A negative base with an integral exponent is real. Integers: wrapping power, 0 for negative
// exponents except of 1 and -1.
HEARTH_API Array pow(const Array& a, const Array& b);
// NaN where either is NaN. Where both are equal each gets half of the gradient.
HEARTH_API Array maximum(const Array& a, const Array& b);
HEARTH_API Array minimum(const Array& a, const Array& b);

HEARTH_API Array neg(const Array& x);
HEARTH_API Array abs(const Array& x);     // of the least signed integer: itself
HEARTH_API Array sign(const Array& x);    // -1, +0 or 1; 0 for NaN; gradient 0
HEARTH_API Array square(const Array& x);  // x * x

// ---- Functions of floats, element by element
// Float dtypes only.

HEARTH_API Array sqrt(const Array& x);
HEARTH_API Array rsqrt(const Array& x);  // 1 / sqrt(x)
HEARTH_API Array recip(const Array& x);  // 1 / x
HEARTH_API Array exp(const Array& x);
HEARTH_API Array expm1(const Array& x);  // e^x - 1, exact near 0
HEARTH_API Array log(const Array& x);
HEARTH_API Array log1p(const Array& x);  // log(1 + x), exact near 0
HEARTH_API Array exp2(const Array& x);   // 2^x, exact of whole numbers
HEARTH_API Array log2(const Array& x);   // exact of powers of 2
HEARTH_API Array log10(const Array& x);
HEARTH_API Array tanh(const Array& x);
HEARTH_API Array sigmoid(const Array& x);
HEARTH_API Array erf(const Array& x);
HEARTH_API Array sin(const Array& x);
HEARTH_API Array cos(const Array& x);
HEARTH_API Array tan(const Array& x);
HEARTH_API Array asin(const Array& x);  // NaN beyond 1, as acos and atanh
HEARTH_API Array acos(const Array& x);
HEARTH_API Array atan(const Array& x);
HEARTH_API Array sinh(const Array& x);
HEARTH_API Array cosh(const Array& x);
HEARTH_API Array asinh(const Array& x);
HEARTH_API Array acosh(const Array& x);  // NaN below 1
HEARTH_API Array atanh(const Array& x);
// The angle of the point (x, y), in [-pi, pi]; signs of zeros and infinities count. At the origin
// the gradient is 0.
HEARTH_API Array atan2(const Array& y, const Array& x);
// sqrt(a^2 + b^2) without overflow in between; an infinity wins over NaN. Where both are 0 the
// gradient is 0.
HEARTH_API Array hypot(const Array& a, const Array& b);
HEARTH_API Array floor(const Array& x);  // gradient 0, as of ceil, round and trunc
HEARTH_API Array ceil(const Array& x);
HEARTH_API Array round(const Array& x);  // ties to even
HEARTH_API Array trunc(const Array& x);  // towards zero, whose sign stays
HEARTH_API Array relu(const Array& x);   // gradient 0 at 0
// x * Phi(x), by erf; `approximate`: by tanh.
HEARTH_API Array gelu(const Array& x, bool approximate = false);
HEARTH_API Array silu(const Array& x);  // x * sigmoid(x)

// ---- Comparison
// Results are bool; never differentiable. Comparisons with NaN are false, not_equal is true.

HEARTH_API Array equal(const Array& a, const Array& b);
HEARTH_API Array not_equal(const Array& a, const Array& b);
HEARTH_API Array less(const Array& a, const Array& b);
HEARTH_API Array less_equal(const Array& a, const Array& b);
HEARTH_API Array greater(const Array& a, const Array& b);
HEARTH_API Array greater_equal(const Array& a, const Array& b);
HEARTH_API Array signbit(const Array& x);  // x < 0, and for -0 and a NaN with the sign minus
HEARTH_API Array is_nan(const Array& x);   // float dtypes only, as is_inf and is_finite
HEARTH_API Array is_inf(const Array& x);
HEARTH_API Array is_finite(const Array& x);  // neither infinite nor NaN

// ---- Logic
// bool only; never differentiable.

HEARTH_API Array logical_and(const Array& a, const Array& b);
HEARTH_API Array logical_or(const Array& a, const Array& b);
HEARTH_API Array logical_xor(const Array& a, const Array& b);
HEARTH_API Array logical_not(const Array& x);

// ---- Bits, element by element
// Integers; bitwise_and, _or, _xor and _not take bool as well, and are logic of it. Never
// differentiable.

HEARTH_API Array bitwise_and(const Array& a, const Array& b);
HEARTH_API Array bitwise_or(const Array& a, const Array& b);
HEARTH_API Array bitwise_xor(const Array& a, const Array& b);
HEARTH_API Array bitwise_not(const Array& x);
// a * 2^b, wrapping. By a b that is negative or at least the bits of the dtype: 0.
HEARTH_API Array bitwise_left_shift(const Array& a, const Array& b);
// floor(a / 2^b): arithmetic for signed integers. By a b that is negative or at least the bits of
// the dtype: 0, or -1 where a is negative.
HEARTH_API Array bitwise_right_shift(const Array& a, const Array& b);

// ---- Selection and conversion
// Any dtype unless said.

// `a` where `condition` (bool) is true, else `b`; all three broadcast.
HEARTH_API Array where(const Array& condition, const Array& a, const Array& b);
// Limits to [low, high]; NaN where one of the three is; `low` wins where low > high. At a bound the
// gradient is x's. Numeric dtypes.
HEARTH_API Array clamp(const Array& x, const Array& low, const Array& high);
// clamp without an upper bound. Numeric dtypes.
HEARTH_API Array clamp_min(const Array& x, const Array& low);
// clamp without a lower bound. Numeric dtypes.
HEARTH_API Array clamp_max(const Array& x, const Array& high);
// a + (b - a) * t: the way from a to b. Float dtypes; a itself for t = 0, while t = 1 may miss b by
// rounding.
HEARTH_API Array lerp(const Array& a, const Array& b, const Array& t);
// Float to integer truncates, saturates and takes NaN to 0; anything to bool is x != 0. `x` itself
// if it has the dtype already. A number becomes an array of rank 0.
HEARTH_API Array cast(const Array& x, DType dtype);
// x in the memory of another device, through the host; x itself if it is there already. Waits for
// x, whose recording ends here. The gradient goes back the same way.
HEARTH_API Array to_device(const Array& x, Device device);

}  // namespace v0
}  // namespace hearth
