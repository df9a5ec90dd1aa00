// Part of formulas.h: what formulas do far outside of the usual range. Rarely taken branches.
// For f32 in integers, the same on every target; for f64 the platform's own.

namespace formula {

// 1 / pi = 0.517cc1b7..., after 32 zero bits for its integer part.
constant uint kInversePi[8] = {0u,          0x517cc1b7u, 0x27220a94u, 0xfe13abe8u,
                               0xfa9a6ee0u, 0x6db14accu, 0x9e21c820u, 0xff28b1d5u};

// x / pi modulo 2, in units of 2^-63, for finite x >= 2^16 (Payne and Hanek, 1983). With x = m 2^e,
// bits of 1 / pi above the window of 96 give multiples of 2, those below it less than 2^-71.
HEARTH_FN ulong half_turns(float x) {
  uint word = bits(x);
  uint at = (word >> 23) - 150u + 31u;
  ulong m = (word & 0x007fffffu) | 0x00800000u;
  uint first = at >> 5;
  uint shift = at & 31u;
  ulong high = (ulong(kInversePi[first]) << 32) | kInversePi[first + 1u];
  ulong low = (ulong(kInversePi[first + 2u]) << 32) | kInversePi[first + 3u];
  high = (high << shift) | ((low >> 1) >> (63u - shift));
  low = (low << shift) >> 32;
  return m * high + ((m * low) >> 32);
}

// sin(pi turns 2^-63).
HEARTH_FN float sin_of_half_turns(ulong turns) {
  ulong odd = (turns + (ulong(1) << 62)) >> 63;
  long rest = long(turns << 1);  // from the nearest integer, in units of 2^-64
  float high = float(rest >> 40) * 5.9604644775390625e-8f;
  float low = float(rest & 0xffffffffffl) * 5.4210108624275222e-20f;
  float r = fma(high, 3.14159274f, fma(high, -8.74227766e-8f, low * 3.14159274f));
  float y = sin_reduced(r);
  return odd != 0u ? -y : y;
}

inline float sin_beyond(float y, float x, float limit) {
  float a = abs(x);
  if (!(a > limit)) return y;
  if (a == HEARTH_INF) return HEARTH_NAN;
  return copysign(1.0f, x) * sin_of_half_turns(half_turns(a));
}
inline float cos_beyond(float y, float x, float limit) {
  float a = abs(x);
  if (!(a > limit)) return y;
  if (a == HEARTH_INF) return HEARTH_NAN;
  return sin_of_half_turns(half_turns(a) + (ulong(1) << 62));
}

// a - trunc(a / b) b without error, for finite a and finite b that is not 0; a, b >= 0.
HEARTH_FN float exact_remainder(float a, float b) {
  uint a_word = bits(a);
  uint b_word = bits(b);
  // Both as integers times a power of two.
  uint a_exponent = a_word < 0x00800000u ? 1u : a_word >> 23;
  uint b_exponent = b_word < 0x00800000u ? 1u : b_word >> 23;
  if (a_exponent < b_exponent) return a;
  ulong r = a_word - ((a_exponent - 1u) << 23);
  ulong divisor = b_word - ((b_exponent - 1u) << 23);
  r %= divisor;
  for (uint left = a_exponent - b_exponent; left != 0u;) {
    uint step = left < 40u ? left : 40u;
    r = (r << step) % divisor;
    left -= step;
  }
  return scale(float(r), float(int(b_exponent) - 150));
}
HEARTH_FN float truncated_remainder(float a, float b) {
  float x = abs(a);
  float y = abs(b);
  if (!(x < HEARTH_INF) || y != y || y == 0.0f) return HEARTH_NAN;
  return copysign(y == HEARTH_INF ? x : exact_remainder(x, y), a);
}

// The floored remainder from the truncated one.
template <HEARTH_REAL(T)>
HEARTH_FN T floored(T r, T b) {
  if (r == T(0.0f)) return copysign(r, b);
  return (r < T(0.0f)) != (b < T(0.0f)) ? r + b : r;
}
// Below 2^22, q is exact or one too high, and x - q y has no rounding error.
inline float remainder_beyond(float r, float x, float y, float q) {
  if (abs(q) < 4194304.0f && abs(y) < HEARTH_INF) return r;
  return floored(truncated_remainder(x, y), y);
}

#if HEARTH_HAS_F64
inline double sin_beyond(double y, double x, double limit) {
  return abs(x) > limit ? metal::sin(x) : y;
}
inline double cos_beyond(double y, double x, double limit) {
  return abs(x) > limit ? metal::cos(x) : y;
}
inline double remainder_beyond(double r, double x, double y, double q) {
  if (abs(q) < 2251799813685248.0 && abs(y) < double(HEARTH_INF)) return r;
  return floored(metal::fmod(x, y), y);
}
#endif

}  // namespace formula
