// exp, tanh, and the quotients and roots inside formulas in f32, where the hardware has 2^x, 1/x
// and the root to about an ulp: overloads that stand before the formulas of scalar_math.h. Text of
// the kernel dialect, inside namespace formula. The prelude that defines HEARTH_HAS_APPROXIMATIONS
// brings
//   exp2_approximate(x)         2^x, 0 where that is below the normal floats
//   reciprocal_approximate(x)   1 / x, likewise
//   root_approximate(x)         the square root, likewise
//   saturated_fma(a, b, c)      a b + c brought into [0, 1], 0 for NaN
//
// Branch-free, a third of the instructions; "max n ulp" is over all floats, on a CUDA card. NaN
// gives NaN; infinities, zeros with their signs, subnormal arguments and results are those of the
// exact function, rounded. No device that flushes subnormals has these.

// e^x = 2^n 2^r with n in [-126, 126], made of the last bits of a sum as power_of_word() does. Past
// that, r takes up the rest: the last product overflows, or rounds into the subnormals, once.
HEARTH_INLINE float exp_rest(float x, thread float& power) {
  float unit = metal::saturated_fma(x, 5.72498032e-3f, 0.5f);  // (x / ln 2 + 126) / 252
  float shifted = metal::fma(unit, 252.0f, 12582913.0f);
  float n = shifted - 12583039.0f;
  power = as_type<float>(as_type<uint>(shifted) << 23);
  return metal::fma(x, 1.92596303e-8f, metal::fma(x, 1.44269502f, -n));
}

// max 2.1 ulp.
HEARTH_INLINE float exp(float x) {
  float power;
  float r = exp_rest(x, power);
  return metal::exp2_approximate(r) * power;
}

// e^(x + correction) for a correction far below 1, likewise.
HEARTH_INLINE float exp_moderate(float x, float correction) {
  float power;
  float r = exp_rest(x, power);
  return metal::exp2_approximate(metal::fma(correction, 1.44269502f, r)) * power;
}

// e^(-a^2 / 2).
HEARTH_INLINE float normal_power(float a) {
  float square = a * a;
  return exp_moderate(square * -0.5f, metal::fma(a, a, -square) * -0.5f);
}

// max 1 ulp.
HEARTH_INLINE float root(float x) { return metal::root_approximate(x); }

// For a denominator in [1, 2^126], with one step of Newton's. max 1 ulp.
HEARTH_INLINE float ratio(float a, float b) {
  float inverse = metal::reciprocal_approximate(b);
  float q = a * inverse;
  return metal::fma(metal::fma(-b, q, a), inverse, q);
}

// x + x^3 P(x^2) for |x| <= 0.6, else 1 - 2 / (e^(2|x|) + 1). max 2 ulp.
HEARTH_INLINE float tanh(float x) {
  float a = metal::fabs(x);
  float z = x * x;
  float p = metal::fma(-5.89515781e-3f, z, 2.07959712e-2f);
  p = metal::fma(p, z, -5.37838303e-2f);
  p = metal::fma(p, z, 0.133319244f);
  p = metal::fma(p, z, -0.333332986f);
  float far = metal::fma(-2.0f, metal::reciprocal_approximate(exp(a + a) + 1.0f), 1.0f);
  return metal::copysign(a > 0.6f ? far : metal::fma(z * p, a, a), x);
}
