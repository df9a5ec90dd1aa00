// Hyperbolic functions, the inverses of those and of the trigonometric ones, and lengths. Text for
// scalar_ops.h after scalar_math.h, whose words it continues; what differs between f32 and f64
// comes first. The polynomials are minimax fits of (f(s) / s - 1) / s^2 in s^2.

// atan q for |q| <= tan(pi / 8).
template <HEARTH_REAL32(T)>
HEARTH_FN T atan_series(T q) {
  T z = q * q;
  T p = fma(T(-6.08115688e-2f), z, T(0.105951400f));
  p = fma(p, z, T(-0.142437388f));
  p = fma(p, z, T(0.199984840f));
  p = fma(p, z, T(-0.333333154f));
  return fma(z * p, q, q);
}
// asin s for z = s^2 in [0, 1/4].
template <HEARTH_REAL32(T)>
HEARTH_FN T asin_series(T s, T z) {
  T p = fma(T(4.22186730e-2f), z, T(2.41475390e-2f));
  p = fma(p, z, T(4.54771105e-2f));
  p = fma(p, z, T(7.49524170e-2f));
  p = fma(p, z, T(0.166667539f));
  return fma(z * p, s, s);
}
// pi / 4 + x, pi / 2 - x and pi - x, rounded as if pi had all its digits.
template <HEARTH_REAL32(T)>
HEARTH_FN T eighth_turn_plus(T x) {
  return (x - T(2.18556941e-8f)) + T(0.785398185f);
}
template <HEARTH_REAL32(T)>
HEARTH_FN T quarter_turn_minus(T x) {
  return T(1.57079637f) - (x + T(4.37113883e-8f));
}
template <HEARTH_REAL32(T)>
HEARTH_FN T half_turn_minus(T x) {
  return T(3.14159274f) - (x + T(8.74227766e-8f));
}
// sinh and cosh beyond are infinite; e^x / 4 is not yet.
template <HEARTH_REAL32(T)>
HEARTH_FN T hyperbolic_limit(T x) {
  return at_most(T(89.6f), x);
}
// sqrt(a^2 + b^2) by way of multiples whose squares are normal numbers, `largest` being the larger.
template <HEARTH_REAL32(T)>
HEARTH_FN T scaled_length(T a, T b, T largest) {
  auto high = largest > T(1.0e18f);
  auto low = largest < T(1.0e-12f);
  T up = where(high, T(7.888609052e-31f), where(low, T(1.2676506e30f), T(1.0f)));
  T down = where(high, T(1.2676506e30f), where(low, T(7.888609052e-31f), T(1.0f)));
  T x = a * up;
  T y = b * up;
  return sqrt(fma(x, x, y * y)) * down;
}

#if HEARTH_HAS_F64
template <HEARTH_REAL64(T)>
HEARTH_FN T atan_series(T q) {
  T z = q * q;
  T p = fma(T(1.519541000145504e-2), z, T(-3.347473166941566e-2));
  p = fma(p, z, T(4.503562169693421e-2));
  p = fma(p, z, T(-5.218407754260182e-2));
  p = fma(p, z, T(5.8770223571547016e-2));
  p = fma(p, z, T(-6.666226818282166e-2));
  p = fma(p, z, T(7.692282763060422e-2));
  p = fma(p, z, T(-9.090908144736652e-2));
  p = fma(p, z, T(0.1111111108818401236));
  p = fma(p, z, T(-0.1428571428538811758));
  p = fma(p, z, T(0.1999999999999767012));
  p = fma(p, z, T(-0.3333333333333332753));
  return fma(z * p, q, q);
}
template <HEARTH_REAL64(T)>
HEARTH_FN T asin_series(T s, T z) {
  T p = fma(T(3.267664260861337e-2), z, T(-2.1076921139147004e-2));
  p = fma(p, z, T(2.1763255854459847e-2));
  p = fma(p, z, T(3.6831333788860961e-3));
  p = fma(p, z, T(1.0786507357261974e-2));
  p = fma(p, z, T(1.1397779372023776e-2));
  p = fma(p, z, T(1.3980961101709685e-2));
  p = fma(p, z, T(1.7351600115404539e-2));
  p = fma(p, z, T(2.2372215659309672e-2));
  p = fma(p, z, T(3.0381942683641079e-2));
  p = fma(p, z, T(4.4642857175120560e-2));
  p = fma(p, z, T(7.4999999999702619e-2));
  p = fma(p, z, T(0.1666666666666676243));
  return fma(z * p, s, s);
}
template <HEARTH_REAL64(T)>
HEARTH_FN T eighth_turn_plus(T x) {
  return (x + T(3.061616997868383e-17)) + T(0.7853981633974483);
}
template <HEARTH_REAL64(T)>
HEARTH_FN T quarter_turn_minus(T x) {
  return T(1.5707963267948966) - (x - T(6.123233995736766e-17));
}
template <HEARTH_REAL64(T)>
HEARTH_FN T half_turn_minus(T x) {
  return T(3.141592653589793) - (x - T(1.2246467991473532e-16));
}
template <HEARTH_REAL64(T)>
HEARTH_FN T hyperbolic_limit(T x) {
  return at_most(T(710.6), x);
}
template <HEARTH_REAL64(T)>
HEARTH_FN T scaled_length(T a, T b, T largest) {
  auto high = largest > T(1.0e150);
  auto low = largest < T(1.0e-140);
  T up = where(high, T(2.409919865102884e-181), where(low, T(4.149515568880993e180), T(1.0)));
  T down = where(high, T(4.149515568880993e180), where(low, T(2.409919865102884e-181), T(1.0)));
  T x = a * up;
  T y = b * up;
  return sqrt(fma(x, x, y * y)) * down;
}
#endif

// With m = (e^|x| - 1) / 4, whose double is within range: sinh x = 2 (m + m / (4 m + 1)).
// max 2.1 ulp, in f64 2.2.
template <HEARTH_REAL(T)>
HEARTH_FN T sinh(T x) {
  T m = expm1_scaled(hyperbolic_limit(abs(x)), T(2.0f), T(0.25f));
  T y = m + m / fma(T(4.0f), m, T(1.0f));
  return where(abs(x) < T(1.0e-20f), x, copysign(y + y, x));
}
// max 1.6 ulp, in f64 1.5.
template <HEARTH_REAL(T)>
HEARTH_FN T cosh(T x) {
  T m = expm1_scaled(hyperbolic_limit(abs(x)), T(2.0f), T(0.25f)) + T(0.25f);
  return (m + m) + T(0.125f) / m;
}

// |x| + sqrt(x^2 + 1) = 1 + t, and 2 |x| where x is large. max 2.2 ulp, in f64 1.9.
template <HEARTH_REAL(T)>
HEARTH_FN T asinh(T x) {
  T a = abs(x);
  auto large = a > T(1.0e18f);
  T square = a * a;
  T t = a + square / (sqrt(square + T(1.0f)) + T(1.0f));
  T y = log1p_moderate(where(large, a * T(0.25f), t), where(large, T(3.0f), T(0.0f)));
  return copysign(where(a < T(HEARTH_INF), y, a), x);
}
// x + sqrt(x^2 - 1) = 1 + t, likewise. max 2.4 ulp, in f64 2.1.
template <HEARTH_REAL(T)>
HEARTH_FN T acosh(T x) {
  auto large = x > T(1.0e18f);
  T d = x - T(1.0f);
  T t = d + sqrt(fma(d, d, d + d));
  T y = log1p_moderate(where(large, x * T(0.25f), t), where(large, T(3.0f), T(0.0f)));
  y = where(x < T(HEARTH_INF), y, x);
  return where(x < T(1.0f), T(HEARTH_NAN), y);
}
// log1p(2 |x| / (1 - |x|)) / 2. max 2.6 ulp, in f64 2.1.
template <HEARTH_REAL(T)>
HEARTH_FN T atanh(T x) {
  T a = abs(x);
  T y = log1p_moderate((a + a) / (T(1.0f) - a), T(0.0f)) * T(0.5f);
  y = where(a < T(1.0f), y, where(a == T(1.0f), T(HEARTH_INF), T(HEARTH_NAN)));
  return copysign(y, x);
}

// pi / 2 - 2 asin(sqrt((1 - |x|) / 2)) where |x| is more than 1/2. max 2.4 ulp, in f64 2.1.
template <HEARTH_REAL(T)>
HEARTH_FN T asin(T x) {
  T a = abs(x);
  auto far = a > T(0.5f);
  T z = where(far, (T(1.0f) - a) * T(0.5f), a * a);
  T t = asin_series(where(far, sqrt(z), a), z);
  return copysign(where(far, quarter_turn_minus(t + t), t), x);
}
// max 1.1 ulp, in f64 1.2.
template <HEARTH_REAL(T)>
HEARTH_FN T acos(T x) {
  T a = abs(x);
  auto far = a > T(0.5f);
  T z = where(far, (T(1.0f) - a) * T(0.5f), a * a);
  T t = asin_series(where(far, sqrt(z), a), z);
  T twice = t + t;
  T far_result = where(x < T(0.0f), half_turn_minus(twice), twice);
  return where(far, far_result, quarter_turn_minus(copysign(t, x)));
}

// atan(a / b) for 0 <= a <= b, b not 0; pi / 4 is taken off where the quotient is steep.
template <HEARTH_REAL(T)>
HEARTH_FN T atan_of_quotient(T a, T b) {
  auto steep = a > b * T(0.41421356f);
  T t = atan_series(where(steep, a - b, a) / where(steep, a + b, b));
  return where(steep, eighth_turn_plus(t), t);
}
// max 2.1 ulp, in f64 2.3.
template <HEARTH_REAL(T)>
HEARTH_FN T atan(T x) {
  T a = abs(x);
  auto far = a > T(1.0f);
  T t = atan_of_quotient(where(far, T(1.0f), a), where(far, a, T(1.0f)));
  return copysign(where(far, quarter_turn_minus(t), t), x);
}
// The angle of (x, y), in [-pi, pi]: a zero has an angle by its sign, as do two infinities by
// theirs. max 2.1 ulp, in f64 2.3.
template <HEARTH_REAL(T)>
HEARTH_FN T atan2(T y, T x) {
  T a = abs(x);
  T b = abs(y);
  auto swap = b > a;
  T least = where(swap, a, b);
  T largest = where(swap, b, a);
  auto infinite = (a == T(HEARTH_INF)) & (b == T(HEARTH_INF));
  least = where(infinite, T(1.0f), least);
  largest = where(infinite | (largest == T(0.0f)), T(1.0f), largest);
  T unit = where(largest > T(1.0e37f), T(0.5f), T(1.0f));  // their sum is within range
  T t = atan_of_quotient(least * unit, largest * unit);
  auto behind = copysign(T(1.0f), x) < T(0.0f);
  T upright = quarter_turn_minus(where(behind, -t, t));
  t = where(swap, upright, where(behind, half_turn_minus(t), t));
  return copysign(t, y);
}

// An infinity wins over NaN. max 1.2 ulp, in f64 1.2.
template <HEARTH_REAL(T)>
HEARTH_FN T hypot(T x, T y) {
  T a = abs(x);
  T b = abs(y);
  T length = scaled_length(a, b, where(a < b, b, a));
  return where((a == T(HEARTH_INF)) | (b == T(HEARTH_INF)), T(HEARTH_INF), length);
}
