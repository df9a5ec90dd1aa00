// Formats of 256 elements, one scale d of all and a small integer scale for 16 or 32: "K-quants".
#pragma once

#include "kernels/formulas/packed/block.h"

namespace packed_formats {

// Where the codes of 32 elements lie in 32 bytes, at the same bits of each, those of group g and
// quarter q begin here.
HEARTH_INLINE uint place_in_32(uint g, uint q) { return 16u * (g & 1u) + 4u * q; }

// Codes of 2 bits: 32 bytes have those of 128 elements, each 32 at the same bits.
template <class Bytes>
HEARTH_INLINE uint four_planes(Bytes block, uint at, uint g, uint q) {
  uint word = word_at(block, at + 32u * (g >> 3) + place_in_32(g, q));
  return (word >> (2u * ((g >> 1) & 3u))) & (3u * kFour);
}
// The same where they lie: shifted up by plane_lift() bits.
HEARTH_INLINE uint plane_lift(uint g) { return 2u * ((g >> 1) & 3u); }
template <class Bytes>
HEARTH_INLINE uint four_lifted_planes(Bytes block, uint at, uint g, uint q) {
  return word_at(block, at + 32u * (g >> 3) + place_in_32(g, q)) & ((3u * kFour) << plane_lift(g));
}
// Bits: 32 bytes have those of 256 elements.
template <class Bytes>
HEARTH_INLINE uint four_bit_planes(Bytes block, uint at, uint g, uint q) {
  return (word_at(block, at + place_in_32(g, q)) >> (g >> 1)) & kFour;
}
// Codes of 4 bits: 32 bytes have those of 64 elements.
template <class Bytes>
HEARTH_INLINE uint four_nibble_planes(Bytes block, uint at, uint g, uint q) {
  uint word = word_at(block, at + 32u * (g >> 2) + place_in_32(g, q));
  return (word >> (4u * ((g >> 1) & 1u))) & (15u * kFour);
}
// The same where they lie: shifted up by nibble_plane_lift() bits.
HEARTH_INLINE uint nibble_plane_lift(uint g) { return 4u * ((g >> 1) & 1u); }
template <class Bytes>
HEARTH_INLINE uint four_lifted_nibble_planes(Bytes block, uint at, uint g, uint q) {
  uint word = word_at(block, at + 32u * (g >> 2) + place_in_32(g, q));
  return word & ((15u * kFour) << nibble_plane_lift(g));
}

// scales [16], qs [64], d [2], dmin [2]: a scale is 4 bits for d and 4 for dmin.
struct Q2_K : Format<Q2_K, 256u, 84u, 0> {
  enum { step_elements = 16 };
  enum { has_least = 1 };
  enum { together = 4 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_planes(block, 16u, g, q);
  }
  static HEARTH_INLINE uint lift(uint g) { return plane_lift(g); }
  template <class Bytes>
  static HEARTH_INLINE uint lifted(Bytes block, uint g, uint q) {
    return four_lifted_planes(block, 16u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 80u) * float(byte_at(block, g) & 15u);
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes block, uint g) {
    return half_at(block, 82u) * float(byte_at(block, g) >> 4);
  }
};

// hmask [32], qs [64], scales [12], d [2]: 2 bits and a third, which counts 4; scales of 6 bits,
// less 32: the low 4 of all 16 in 8 bytes, then the high 2.
struct Q3_K : Format<Q3_K, 256u, 110u, 4> {
  enum { step_elements = 16 };
  enum { together = 4 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_planes(block, 32u, g, q) | (four_bit_planes(block, 0u, g, q) << 2);
  }
  // The last of four planes has no bits above it for a third.
  static HEARTH_INLINE uint lift(uint g) {
    uint plane = (g >> 1) & 3u;
    return plane == 3u ? 4u : 2u * plane;
  }
  template <class Bytes>
  static HEARTH_INLINE uint lifted(Bytes block, uint g, uint q) {
    uint plane = (g >> 1) & 3u, place = place_in_32(g, q), up = lift(g);
    uint low = word_at(block, 32u + 32u * (g >> 3) + place) >> (2u * plane - up);
    uint third = bits_at(block, place, 4u * (g >> 3)) << 2;  // from bit 2 + plane on
    return (low & ((3u * kFour) << up)) | ((third << (up - plane)) & ((4u * kFour) << up));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint low = (byte_at(block, 96u + (g & 7u)) >> (4u * (g >> 3))) & 15u;
    uint high = (byte_at(block, 104u + (g & 3u)) >> (2u * (g >> 2))) & 3u;
    return half_at(block, 108u) * float(int(low | (high << 4)) - 32);
  }
};

// Of 32 elements each: 8 scales and 8 least values of 6 bits in 12 bytes. The first four of either
// are the low bits of bytes 0 to 3 and 4 to 7; the others have their high 2 bits above those, and
// their low 4 in bytes 8 to 11.
template <class Bytes>
HEARTH_INLINE uint six_bits(Bytes block, uint at, uint g, uint shift) {
  uint k = g >> 1;
  uint byte = byte_at(block, at + shift + (k & 3u));
  uint low = (byte_at(block, at + 8u + (k & 3u)) >> shift) & 15u;
  return k < 4u ? byte & 63u : low | ((byte >> 2) & 48u);
}
template <class Bytes>
HEARTH_INLINE uint scale_of_32(Bytes block, uint at, uint g) {
  return six_bits(block, at, g, 0u);
}
template <class Bytes>
HEARTH_INLINE uint least_of_32(Bytes block, uint at, uint g) {
  return six_bits(block, at, g, 4u);
}

// d [2], dmin [2], scales [12], qs [128].
struct Q4_K : Format<Q4_K, 256u, 144u, 0> {
  enum { has_least = 1 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_nibble_planes(block, 16u, g, q);
  }
  static HEARTH_INLINE uint lift(uint g) { return nibble_plane_lift(g); }
  template <class Bytes>
  static HEARTH_INLINE uint lifted(Bytes block, uint g, uint q) {
    return four_lifted_nibble_planes(block, 16u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 0u) * float(scale_of_32(block, 4u, g));
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes block, uint g) {
    return half_at(block, 2u) * float(least_of_32(block, 4u, g));
  }
};

// d [2], dmin [2], scales [12], qh [32], qs [128].
struct Q5_K : Format<Q5_K, 256u, 176u, 0> {
  enum { has_least = 1 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_nibble_planes(block, 48u, g, q) | (four_bit_planes(block, 16u, g, q) << 4);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 0u) * float(scale_of_32(block, 4u, g));
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes block, uint g) {
    return half_at(block, 2u) * float(least_of_32(block, 4u, g));
  }
};

// ql [128], qh [64], scales [16], d [2]: 64 bytes of ql have the low 4 bits of 128 elements, 32 of
// qh their high 2; scales are signed bytes.
struct Q6_K : Format<Q6_K, 256u, 210u, 32> {
  enum { step_elements = 16 };
  enum { apart = 2 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint word = word_at(block, 64u * (g >> 3) + 16u * (g & 3u) + 4u * q);
    // Of two groups that share bytes: those of the first in bits 0 and 1, of the other in 4 and 5.
    uint high = bits_at(block, 128u + 32u * (g >> 3) + place_in_32(g, q), g & 2u);
    if ((g & 4u) == 0u) return (word & (15u * kFour)) | ((high << 4) & (48u * kFour));
    return ((word >> 4) & (15u * kFour)) | (high & (48u * kFour));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 208u) * float(int(byte_at(block, 192u + g) ^ 128u) - 128);
  }
};

}  // namespace packed_formats
