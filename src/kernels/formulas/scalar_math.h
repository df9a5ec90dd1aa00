// Transcendental functions in f32, once for every target. Text for scalar_ops.h: no include guard
// and no includes; the vocabulary is described there.
//
// All are fma-only polynomials without branches. "max n ulp" is the largest error seen against
// 80-bit arithmetic, over samples of all floats and of the usual range. NaN gives NaN; at
// infinities and at zeros (with their signs) the results are the exact limits, and at subnormals
// where the device has them: Apple's GPUs take those of f32 for zeros, and give zeros for them.

// 2^n e^r for |r| <= ln 2 / 2: e^r = 1 + r + r^2 q(r).
template <HEARTH_REAL32(T)>
HEARTH_FN T exp_reduced(T r, T n) {
  T q = fma(T(1.38934941e-3f), r, T(8.37100483e-3f));
  q = fma(q, r, T(4.16671082e-2f));
  q = fma(q, r, T(1.66664988e-1f));
  q = fma(q, r, T(0.499999970f));
  return scale(fma(r * r, q, r) + T(1.0f), n);
}

// e^(x + correction) for x in [-115, 90] and a correction far below 1.
template <HEARTH_REAL32(T)>
HEARTH_FN T exp_moderate(T x, T correction) {
  T n = rint(x * T(1.44269502f));
  T r = fma(n, T(-0.693359375f), x);
  return exp_reduced(fma(n, T(2.12194442e-4f), r) + correction, n);
}

// max 1.0 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T exp(T x) {
  T y = at_least(T(-104.0f), at_most(T(89.0f), x));
  T n = rint(y * T(1.44269502f));
  T r = fma(n, T(-0.693359375f), y);
  return exp_reduced(fma(n, T(2.12194442e-4f), r), n);
}

// max 1.1 ulp, and exact of whole numbers.
template <HEARTH_REAL32(T)>
HEARTH_FN T exp2(T x) {
  T y = at_least(T(-151.0f), at_most(T(129.0f), x));
  T n = rint(y);
  return exp_reduced((y - n) * T(0.693147182f), n);
}

// (e^x - 1) unit = 2^(n-below) p + (2^(n-below) - unit) with p = e^r - 1 and unit = 2^-below; x
// from -30 up to where 2^(n-below) is the largest power, or NaN.
template <HEARTH_REAL32(T)>
HEARTH_FN T expm1_scaled(T x, T below, T unit) {
  T n = rint(x * T(1.44269502f));
  T r = fma(n, T(-0.693359375f), x);
  r = fma(n, T(2.12194442e-4f), r);
  T q = fma(T(1.99648371e-4f), r, T(1.39443204e-3f));
  q = fma(q, r, T(8.33321512e-3f));
  q = fma(q, r, T(4.16663140e-2f));
  q = fma(q, r, T(1.66666672e-1f));
  q = fma(q, r, T(0.500000000f));
  T p = fma(r * r, q, r);
  T power = power_of_two(n - below);
  return fma(power, p, power - unit);
}
template <HEARTH_REAL32(T)>
HEARTH_FN T expm1_moderate(T x) {
  T e = expm1_scaled(x, T(1.0f), T(0.5f));
  return e + e;
}

// max 1.3 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T expm1(T x) {
  T y = copysign(expm1_moderate(at_least(T(-30.0f), at_most(T(89.0f), x))), x);
  return where(abs(x) < T(1.0e-20f), x, y);
}

// m / (m + 2) with m = e^(2|x|) - 1. max 2.3 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T tanh(T x) {
  T a = at_most(T(9.1f), abs(x));
  T m = expm1_moderate(a + a);
  return copysign(m / (m + T(2.0f)), x);
}

// log(1 + f) + n ln 2 for f in [-1/3, 1/3].
template <HEARTH_REAL32(T)>
HEARTH_FN T log_reduced(T f, T n) {
  T p = fma(T(0.138266668f), f, T(-0.151282057f));
  p = fma(p, f, T(0.140411988f));
  p = fma(p, f, T(-0.164714724f));
  p = fma(p, f, T(0.200079739f));
  p = fma(p, f, T(-0.250042647f));
  p = fma(p, f, T(0.333332658f));
  T f2 = f * f;
  T low = fma(n, T(-2.12194442e-4f), f2 * f * p);
  low = fma(f2, T(-0.5f), low);
  return fma(n, T(0.693359375f), low + f);
}

// Of normal, finite, positive x: the same bits as log().
template <HEARTH_REAL32(T)>
HEARTH_FN T log_moderate(T x) {
  auto word = bits(x) - bits(T(0.66666668653f));
  T n = to_real(shift_right<23>(word));
  T m = real_of((word & same_bits(word, 0x007fffff)) + bits(T(0.66666668653f)));
  return log_reduced(m - T(1.0f), n);
}

// What follows from a logarithm y of a positive x, in any base, for the other x.
template <HEARTH_REAL(T)>
HEARTH_FN T log_everywhere(T x, T y) {
  y = where(x < T(HEARTH_INF), y, x);
  y = where(x < T(0.0f), T(HEARTH_NAN), y);
  return where(x == T(0.0f), T(-HEARTH_INF), y);
}

// x = 2^n (1 + f) for positive x: n, and the bits of 1 + f before they are brought together.
template <HEARTH_REAL32(T)>
HEARTH_FN auto log_word(T x) {
  auto tiny = x < T(1.17549435e-38f);
  return bits(where(tiny, x * T(8388608.0f), x)) - bits(T(0.66666668653f));
}
template <HEARTH_REAL32(T)>
HEARTH_FN T log_exponent(T x) {
  auto tiny = x < T(1.17549435e-38f);
  return to_real(shift_right<23>(log_word(x))) - where(tiny, T(23.0f), T(0.0f));
}
template <HEARTH_REAL32(T)>
HEARTH_FN T log_fraction(T x) {
  auto word = log_word(x);
  return real_of((word & same_bits(word, 0x007fffff)) + bits(T(0.66666668653f))) - T(1.0f);
}

// max 1.2 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T log(T x) {
  return log_everywhere(x, log_reduced(log_fraction(x), log_exponent(x)));
}

// n + log(1 + f) / ln 2, exact of powers of two. max 2.3 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T log2(T x) {
  T l = log_reduced(log_fraction(x), T(0.0f));
  T low = fma(l, T(1.92596303e-8f), log_exponent(x));
  return log_everywhere(x, fma(l, T(1.44269502f), low));
}

// n log 2 + log(1 + f) / ln 10. max 2.1 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T log10(T x) {
  T n = log_exponent(x);
  T l = log_reduced(log_fraction(x), T(0.0f));
  T low = fma(l, T(-1.01030498e-8f), n * T(4.60503898e-6f));
  return log_everywhere(x, fma(n, T(0.301025391f), fma(l, T(0.434294492f), low)));
}

// log(1 + x) + more ln 2 for x in (-1, 8e37]: with 1 + x = 2^n m, f = m - 1 is x 2^-n + (2^-n - 1),
// which loses nothing.
template <HEARTH_REAL32(T)>
HEARTH_FN T log1p_moderate(T x, T more) {
  auto word = bits(x + T(1.0f)) - bits(T(0.66666668653f));
  T n = to_real(shift_right<23>(word));
  T power = power_of_two(-n);
  return log_reduced(fma(x, power, power - T(1.0f)), n + more);
}

// max 1.9 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T log1p(T x) {
  auto huge = x > T(8.0e37f);
  T y = log1p_moderate(where(huge, x * T(0.25f), x), where(huge, T(2.0f), T(0.0f)));
  y = where(x < T(HEARTH_INF), y, x);
  y = where(x < T(-1.0f), T(HEARTH_NAN), y);
  return copysign(where(x == T(-1.0f), T(-HEARTH_INF), y), x);
}

// sin r for |r| <= pi / 2; exactly 1 at its end, so that cos 0 is 1.
template <HEARTH_REAL32(T)>
HEARTH_FN T sin_reduced(T r) {
  T z = r * r;
  T p = fma(T(2.60428419e-6f), z, T(-1.98089576e-4f));
  p = fma(p, z, T(8.33305996e-3f));
  p = fma(p, z, T(-0.166666597f));
  return fma(z * p, r, r);
}

// x - n pi. The first product cancels without rounding, so r is right near multiples of pi too.
template <HEARTH_REAL32(T)>
HEARTH_FN T minus_pi_times(T x, T n) {
  T r = fma(n, T(-3.14159274f), x);
  r = fma(n, T(8.74227766e-8f), r);
  return fma(n, T(3.43024902e-15f), r);
}

// (-1)^n sin(x - n pi) for |x| up to 1e5. max 2.2 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T sin_moderate(T x) {
  T shifted = fma(x, T(0.318309873f), T(12582912.0f));
  T y = sin_reduced(minus_pi_times(x, shifted - T(12582912.0f)));
  return real_of(bits(y) ^ shift_left<31>(bits(shifted)));
}

// (-1)^n sin(|x| - (n - 1/2) pi), likewise.
template <HEARTH_REAL32(T)>
HEARTH_FN T cos_moderate(T x) {
  T shifted = fma(abs(x), T(0.318309873f), T(0.5f)) + T(12582912.0f);
  T y = sin_reduced(minus_pi_times(abs(x), shifted - T(12582912.0f) - T(0.5f)));
  return real_of(bits(y) ^ shift_left<31>(bits(shifted)));
}

// Arguments beyond 1e5 take the target's slow path.
template <HEARTH_REAL32(T)>
HEARTH_FN T sin(T x) {
  return sin_beyond(where(x == T(0.0f), x, sin_moderate(x)), x, T(1.0e5f));
}
template <HEARTH_REAL32(T)>
HEARTH_FN T cos(T x) {
  return cos_beyond(cos_moderate(x), x, T(1.0e5f));
}

// x + x^3 P(x^2) for |x| < 0.92, else 1 - e^-Q(|x|). max 1.2 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T erf(T x) {
  T a = abs(x);
  T b = at_most(T(4.0f), a);
  T z = x * x;
  T p = fma(T(-5.99298976e-4f), z, T(4.99529688e-3f));
  p = fma(p, z, T(-2.67698225e-2f));
  p = fma(p, z, T(0.112819888f));
  p = fma(p, z, T(-0.376125276f));
  p = fma(p, z, T(0.128379166f));
  T q = fma(T(1.95936416e-4f), b, T(-3.04321037e-3f));
  q = fma(q, b, T(2.22268943e-2f));
  q = fma(q, b, T(-0.103931546f));
  q = fma(q, b, T(-0.637182295f));
  q = fma(q, b, T(-1.12767565f));
  q = fma(q, b, T(-1.95681677e-4f));
  T far = copysign(T(1.0f) - exp_moderate(q, T(0.0f)), x);
  return where(a > T(0.92f), far, fma(x, p, x));
}

// e^(-a^2 / 2) for a in [0, 15] or NaN. The square is taken where n ln 2, whose first part is
// exact, leaves little of it.
template <HEARTH_REAL32(T)>
HEARTH_FN T normal_power(T a) {
  T n = rint(a * (a * T(-0.721347511f)));
  T r = fma(a * T(-0.5f), a, n * T(-0.693359375f));
  return exp_reduced(fma(n, T(2.12194442e-4f), r), n);
}

// The normal distribution below -a: e^(-a^2/2) t P(t) with t = 1 / (1 + c a). a in [0, 15] or NaN;
// relative error below 6e-7.
template <HEARTH_REAL32(T)>
HEARTH_FN T normal_tail(T a) {
  T t = ratio(T(1.0f), fma(a, T(0.310000002f), T(1.0f)));
  T p = fma(T(3.58904712e-2f), t, T(-0.141818523f));
  p = fma(p, t, T(0.155457988f));
  p = fma(p, t, T(-1.52852181e-2f));
  p = fma(p, t, T(0.11032591f));
  p = fma(p, t, T(0.107700981f));
  p = fma(p, t, T(0.124072418f));
  p = fma(p, t, T(0.123656064f));
  return normal_power(a) * (t * p);
}

// x times the normal distribution below x; relative error below 1e-6 down to where it underflows.
template <HEARTH_REAL32(T)>
HEARTH_FN T gelu(T x) {
  T a = at_most(T(15.0f), abs(x));
  return fma(-a, normal_tail(a), where(x < T(0.0f), T(-0.0f), x));
}

// e^(-|v|) with the numerator 1 or e^(-|v|): 1 / (1 + e^-v) without loss at either end.
template <HEARTH_REAL32(T)>
HEARTH_FN T gelu_tanh(T x) {
  T a = at_least(T(-30.0f), x);
  T v = a * fma(a * a, T(7.13548163e-2f), T(1.59576912f));
  T e = exp(-abs(v));
  return a * ratio(where(v < T(0.0f), e, T(1.0f)), T(1.0f) + e);
}

// log |x| to twice the precision, times y, then e^. Integral exponents of negative bases are real;
// x^0 and 1^y are 1. max 1.2 ulp.
template <HEARTH_REAL32(T)>
HEARTH_FN T pow(T x, T y) {
  T a = abs(x);
  auto tiny = a < T(1.17549435e-38f);
  auto word = bits(where(tiny, a * T(8388608.0f), a)) - bits(T(0.66666668653f));
  T n = to_real(shift_right<23>(word)) - where(tiny, T(23.0f), T(0.0f));
  T f = real_of((word & same_bits(word, 0x007fffff)) + bits(T(0.66666668653f))) - T(1.0f);
  // s = f / (2 + f) and its rest; log(1 + f) = 2 s + s^3 P(s^2)
  T d = f + T(2.0f);
  T d_rest = f - (d - T(2.0f));
  T s = ratio(f, d);
  T s_rest = ratio(fma(-s, d_rest, fma(-s, d, f)), d);
  T z = s * s;
  T p = fma(T(0.241025150f), z, T(0.285068631f));
  p = fma(p, z, T(0.400008649f));
  p = fma(p, z, T(3.75935588e-9f));
  T cube = z * s;
  T cube_rest = fma(z, s, -cube) + fma(fma(s, s, -z), s, z * T(3.0f) * s_rest);
  T term = cube * T(0.666666627f);
  T term_rest = fma(cube, T(0.666666627f), -term);
  term_rest = term_rest + fma(cube_rest, T(0.666666627f), cube * p);
  // n ln 2 + 2 s + s^3 P, largest first
  T high = n * T(0.693145752f);
  T sum = high + (s + s);
  T rest = (s + s) - (sum - high);
  T log_a = sum + term;
  rest = rest + (term - (log_a - sum));
  rest = rest + fma(s_rest, T(2.0f), fma(n, T(1.42860682e-6f), term_rest));
  sum = log_a;
  log_a = sum + rest;
  rest = rest - (log_a - sum);
  T t = y * log_a;
  T t_rest = fma(y, rest, fma(y, log_a, -t));
  t_rest = where(abs(t) < T(200.0f), t_rest, T(0.0f));
  T r = exp_moderate(at_least(T(-105.0f), at_most(T(90.0f), t)), t_rest);

  T zero = T(0.0f);
  T inf = T(HEARTH_INF);
  r = where(((a == zero) & (y > zero)) | ((a == inf) & (y < zero)), zero, r);
  r = where(((a == zero) & (y < zero)) | ((a == inf) & (y > zero)), inf, r);
  r = where(a == T(1.0f), T(1.0f), r);
  auto integral = floor(y) == y;
  T half_y = y * T(0.5f);
  auto odd = integral & (floor(half_y) != half_y);
  r = where(odd, copysign(r, x), r);
  auto negative = (x < zero) & (a < inf);
  r = where(negative, where(integral, r, T(HEARTH_NAN)), r);
  r = where(x == x, r, x);
  r = where(y == y, r, y);
  return where((y == zero) | (x == T(1.0f)), T(1.0f), r);
}
