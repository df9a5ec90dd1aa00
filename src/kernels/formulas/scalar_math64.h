// Transcendental functions in f64, for targets that have it. Text for scalar_ops.h, like
// scalar_math.h, with longer polynomials.

// e^r - 1 = r + r^2 q(r) for |r| <= ln 2 / 2.
template <HEARTH_REAL64(T)>
HEARTH_FN T expm1_reduced(T r) {
  T q = fma(T(1.768813242274368557e-9), r, T(2.510625103516667359e-8));
  q = fma(q, r, T(2.756813833551896203e-7));
  q = fma(q, r, T(2.755725289884251642e-6));
  q = fma(q, r, T(2.480157402464490753e-5));
  q = fma(q, r, T(1.98412698768043331e-4));
  q = fma(q, r, T(1.388888889600581268e-3));
  q = fma(q, r, T(8.333333333325565124e-3));
  q = fma(q, r, T(4.166666666665111048e-2));
  q = fma(q, r, T(0.1666666666666667142));
  q = fma(q, r, T(0.5));
  return fma(r * r, q, r);
}

template <HEARTH_REAL64(T)>
HEARTH_FN T exp_moderate(T x, T correction) {
  T n = rint(x * T(1.4426950408889634074));
  T r = fma(n, T(-0.69314718036912381649), x);
  r = fma(n, T(-1.9082149292705878161e-10), r) + correction;
  return scale(expm1_reduced(r) + T(1.0), n);
}

// max 1.1 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T exp(T x) {
  return exp_moderate(at_least(T(-746.0), at_most(T(710.0), x)), T(0.0));
}

// max 1.1 ulp, and exact of whole numbers.
template <HEARTH_REAL64(T)>
HEARTH_FN T exp2(T x) {
  T y = at_least(T(-1076.0), at_most(T(1025.0), x));
  T n = rint(y);
  return scale(expm1_reduced((y - n) * T(0.69314718055994530942)) + T(1.0), n);
}

// x from -60, or NaN.
template <HEARTH_REAL64(T)>
HEARTH_FN T expm1_scaled(T x, T below, T unit) {
  T n = rint(x * T(1.4426950408889634074));
  T r = fma(n, T(-0.69314718036912381649), x);
  r = fma(n, T(-1.9082149292705878161e-10), r);
  T p = expm1_reduced(r);
  T power = power_of_two(n - below);
  return fma(power, p, power - unit);
}
template <HEARTH_REAL64(T)>
HEARTH_FN T expm1_moderate(T x) {
  T e = expm1_scaled(x, T(1.0), T(0.5));
  return e + e;
}

// max 1.4 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T expm1(T x) {
  T y = copysign(expm1_moderate(at_least(T(-60.0), at_most(T(710.0), x))), x);
  return where(abs(x) < T(1.0e-30), x, y);
}

// max 2.3 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T tanh(T x) {
  T a = at_most(T(20.0), abs(x));
  T m = expm1_moderate(a + a);
  return copysign(m / (m + T(2.0)), x);
}

// With s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + s^2 R(s^2))).
template <HEARTH_REAL64(T)>
HEARTH_FN T log_reduced(T f, T n) {
  T s = f / (f + T(2.0));
  T z = s * s;
  T p = fma(T(0.1384227963951726348), z, T(0.1317371801918577689));
  p = fma(p, z, T(0.1539110446951273572));
  p = fma(p, z, T(0.1818166611818495397));
  p = fma(p, z, T(0.2222222429219099118));
  p = fma(p, z, T(0.2857142855586800757));
  p = fma(p, z, T(0.4000000000005650745));
  p = fma(p, z, T(0.6666666666666659658));
  T half_square = f * f * T(0.5);
  T low = fma(s, fma(z, p, half_square), n * T(1.9082149292705878161e-10));
  return fma(n, T(0.69314718036912381649), f - (half_square - low));
}

template <HEARTH_REAL64(T)>
HEARTH_FN auto log_word(T x) {
  auto tiny = x < T(2.2250738585072014e-308);
  return bits(where(tiny, x * T(4503599627370496.0), x)) - bits(T(0.6666666865348816));
}
template <HEARTH_REAL64(T)>
HEARTH_FN T log_exponent(T x) {
  auto tiny = x < T(2.2250738585072014e-308);
  return to_real(shift_right<52>(log_word(x))) - where(tiny, T(52.0), T(0.0));
}
template <HEARTH_REAL64(T)>
HEARTH_FN T log_fraction(T x) {
  auto word = log_word(x);
  return real_of((word & same_bits(word, 0x000fffffffffffff)) + bits(T(0.6666666865348816))) -
         T(1.0);
}

// max 0.8 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T log(T x) {
  return log_everywhere(x, log_reduced(log_fraction(x), log_exponent(x)));
}

// max 1.7 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T log2(T x) {
  T l = log_reduced(log_fraction(x), T(0.0));
  T low = fma(l, T(2.035527374093103311e-17), log_exponent(x));
  return log_everywhere(x, fma(l, T(1.442695040888963387), low));
}

// max 1.6 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T log10(T x) {
  T n = log_exponent(x);
  T l = log_reduced(log_fraction(x), T(0.0));
  T low = fma(l, T(1.098319650216765073e-17), n * T(1.420502322726609942e-13));
  return log_everywhere(
      x, fma(n, T(0.3010299956638391449814662), fma(l, T(0.4342944819032518167), low)));
}

// x in (-1, 4e307].
template <HEARTH_REAL64(T)>
HEARTH_FN T log1p_moderate(T x, T more) {
  auto word = bits(x + T(1.0)) - bits(T(0.6666666865348816));
  T n = to_real(shift_right<52>(word));
  T power = power_of_two(-n);
  return log_reduced(fma(x, power, power - T(1.0)), n + more);
}

// max 1.6 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T log1p(T x) {
  auto huge = x > T(4.0e307);
  T y = log1p_moderate(where(huge, x * T(0.25), x), where(huge, T(2.0), T(0.0)));
  y = where(x < T(HEARTH_INF), y, x);
  y = where(x < T(-1.0), T(HEARTH_NAN), y);
  return copysign(where(x == T(-1.0), T(-HEARTH_INF), y), x);
}

template <HEARTH_REAL64(T)>
HEARTH_FN T sin_reduced(T r) {
  T z = r * r;
  T p = fma(T(2.720271750298892353e-15), z, T(-7.642907079726457205e-13));
  p = fma(p, z, T(1.605893651866900496e-10));
  p = fma(p, z, T(-2.505210681059721681e-8));
  p = fma(p, z, T(2.755731921047199387e-6));
  p = fma(p, z, T(-1.984126984120542566e-4));
  p = fma(p, z, T(8.333333333333184085e-3));
  p = fma(p, z, T(-0.1666666666666666548));
  return fma(z * p, r, r);
}

template <HEARTH_REAL64(T)>
HEARTH_FN T minus_pi_times(T x, T n) {
  T r = fma(n, T(-3.141592653589793), x);
  r = fma(n, T(-1.2246467991473532e-16), r);
  return fma(n, T(2.994769809718363e-33), r);
}

// Arguments beyond 1e8 take the target's slow path. max 1.6 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T sin(T x) {
  T shifted = fma(x, T(0.31830988618379067154), T(6755399441055744.0));
  T y = sin_reduced(minus_pi_times(x, shifted - T(6755399441055744.0)));
  y = real_of(bits(y) ^ shift_left<63>(bits(shifted)));
  return sin_beyond(where(x == T(0.0), x, y), x, T(1.0e8));
}

// max 1.7 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T cos(T x) {
  T shifted = fma(abs(x), T(0.31830988618379067154), T(0.5)) + T(6755399441055744.0);
  T y = sin_reduced(minus_pi_times(abs(x), shifted - T(6755399441055744.0) - T(0.5)));
  y = real_of(bits(y) ^ shift_left<63>(bits(shifted)));
  return cos_beyond(y, x, T(1.0e8));
}

// e^(-u^2) P((u - 4) / (u + 4)) / (1 + 2u), where -u^2 is given as `power` + `rest`; u in
// [0, 27.5].
template <HEARTH_REAL64(T)>
HEARTH_FN T erfc_from(T u, T power, T rest) {
  T w = (u - T(4.0)) / (u + T(4.0));
  T p = fma(T(-1.776205989375505871e-9), w, T(-1.357294520134811123e-8));
  p = fma(p, w, T(-7.822006290527409756e-9));
  p = fma(p, w, T(1.149873434926690035e-7));
  p = fma(p, w, T(6.274050869068652339e-8));
  p = fma(p, w, T(-8.346170282560300329e-7));
  p = fma(p, w, T(3.01472967138323994e-7));
  p = fma(p, w, T(5.71744323183814404e-6));
  p = fma(p, w, T(-1.122495517289076889e-5));
  p = fma(p, w, T(-2.440295222138368481e-5));
  p = fma(p, w, T(1.506223422746992317e-4));
  p = fma(p, w, T(-1.99255573665629661e-4));
  p = fma(p, w, T(-7.577733738049601731e-4));
  p = fma(p, w, T(5.031969768470237169e-3));
  p = fma(p, w, T(-1.619773405294048564e-2));
  p = fma(p, w, T(3.716751556104449218e-2));
  p = fma(p, w, T(-6.63303658121861844e-2));
  p = fma(p, w, T(9.373283499688778131e-2));
  p = fma(p, w, T(-0.1010390660363173153));
  p = fma(p, w, T(6.809705425473444143e-2));
  p = fma(p, w, T(1.537965210262003593e-2));
  p = fma(p, w, T(-0.1396211168405628661));
  p = fma(p, w, T(1.232995118625552509));
  return exp_moderate(power, rest) * (p / fma(u, T(2.0), T(1.0)));
}

// max 1.0 ulp.
template <HEARTH_REAL64(T)>
HEARTH_FN T erf(T x) {
  T a = abs(x);
  T u = at_most(T(6.0), a);
  T z = x * x;
  T p = fma(T(-7.79515034416849262e-10), z, T(1.372003720061816839e-8));
  p = fma(p, z, T(-1.620858850048913394e-7));
  p = fma(p, z, T(1.644745730405227008e-6));
  p = fma(p, z, T(-1.492474159352870732e-5));
  p = fma(p, z, T(1.205529529424305407e-4));
  p = fma(p, z, T(-8.548325995294671956e-4));
  p = fma(p, z, T(5.223977607745021503e-3));
  p = fma(p, z, T(-2.686617064335592824e-2));
  p = fma(p, z, T(0.112837916709462159));
  p = fma(p, z, T(-0.3761263890318359645));
  p = fma(p, z, T(0.1283791670955125739));
  T square = u * u;
  T far = copysign(T(1.0) - erfc_from(u, -square, -fma(u, u, -square)), x);
  return where(a > T(1.0), far, fma(x, p, x));
}

// Relative error below 4e-15 down to where it underflows.
template <HEARTH_REAL64(T)>
HEARTH_FN T gelu(T x) {
  T a = at_most(T(38.8), abs(x));
  T square = a * a;
  T lost = fma(a, a, -square);
  T tail = erfc_from(a * T(0.70710678118654752440), square * T(-0.5), lost * T(-0.5));
  tail = a * (tail * T(0.5));
  return where(x < T(0.0), -tail, x - tail);
}

template <HEARTH_REAL64(T)>
HEARTH_FN T gelu_tanh(T x) {
  T a = at_least(T(-50.0), x);
  T v = a * fma(a * a, T(0.071354816272600248776), T(1.5957691216057307118));
  T e = exp(-abs(v));
  return a * (where(v < T(0.0), e, T(1.0)) / (T(1.0) + e));
}

// The target's own power: twice the precision of f64 is not worth a text here.
template <HEARTH_REAL64(T)>
HEARTH_FN T pow(T x, T y) {
  return pow_platform(x, y);
}
