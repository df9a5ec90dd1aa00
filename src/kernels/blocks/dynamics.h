// Numbers out of the dynamic block: 64-bit words, floats as the bits of an f64. Integer arithmetic
// only, since not every GPU has f64. Text of the kernel dialect.

// The bits of the float nearest to the f64 with the bits `word`, ties to even. With `odd`, an
// inexact value is truncated and gets an odd last bit instead: a second rounding, to a shorter
// float, then gives what one rounding would have.
inline uint float_bits_of(ulong word, bool odd) {
  uint sign = uint(word >> 32) & 0x80000000u;
  ulong magnitude = (word << 1) >> 1;
  ulong infinity = ulong(0x7ff) << 52;
  if (magnitude > infinity) return sign | 0x7fc00000u;
  uint exponent = uint(magnitude >> 52);
  // A normal float: the exponent loses 896, and the significand 29 bits.
  ulong significand = magnitude - (ulong(896) << 52);
  uint shift = 29u;
  if (exponent < 897u) {
    // A subnormal one, or nothing: one bit less for each step below.
    significand = (magnitude & ((ulong(1) << 52) - 1)) | (ulong(1) << 52);
    shift = exponent < 866u ? 60u : 926u - exponent;
    if (magnitude == 0) return sign;
  }
  ulong kept = significand >> shift;
  ulong rest = significand & ((ulong(1) << shift) - 1);
  ulong half_unit = ulong(1) << (shift - 1u);
  if (kept >= ulong(0x7f800000)) {
    return sign | (odd && magnitude != infinity ? 0x7f7fffffu : 0x7f800000u);
  }
  uint bits = uint(kept);
  if (odd) {
    bits |= rest != 0 ? 1u : 0u;
  } else if (rest > half_unit || (rest == half_unit && (bits & 1u) != 0)) {
    bits += 1u;
  }
  return sign | bits;
}

// A float scalar of the dynamic block.
inline float dynamic_float(ulong word) { return as_type<float>(float_bits_of(word, false)); }
