// Formats of 4-bit floats: a sign, and magnitudes 0 0.5 1 1.5 2 3 4 6, of which codes are the
// doubles. Their zero is +0.
#pragma once

#include "kernels/formulas/packed/block.h"

namespace packed_formats {

// Of the nibbles of four bytes, low (shift 0) or high ones (4). The magnitude is the low 3 bits x,
// plus x - 4 from 4 on, and 2 more of 7.
HEARTH_INLINE uint float4_codes(uint word, uint shift) {
#if HEARTH_HAS_PICK4
  return pick_by_nibbles(word, shift, metal::kept(0x0f0e0d0cu), 0x18141210u,
                         metal::kept(0x090a0b0cu), 0x00040608u);
#else
  uint nibbles = (word >> shift) & (15u * kFour);
  uint low = nibbles & (3u * kFour);
  uint upper = low & (((nibbles >> 2) & kFour) * 3u);
  uint last = upper & (upper >> 1) & kFour;
  uint magnitudes = (nibbles & (7u * kFour)) + upper + (last << 1);
  return signed_codes(12u, magnitudes, (nibbles >> 3) & kFour);
#endif
}

// e [1], qs [16]: times 2^(e - 128); byte j holds elements j and j + 16.
struct MXFP4 : Format<MXFP4, 32u, 17u, 12> {
  enum { order = unit_pairs_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return float4_codes(word_at(block, 1u + 4u * q), 4u * g);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    uint e = byte_at(block, 0u);
    return as_type<float>(e < 2u ? 0x00200000u << e : (e - 1u) << 23);
  }
};

// d [4], qs [32]: for each group a scale, a float of 4 bits of exponent and 3 of fraction whose top
// bit is ignored and whose 0x7f is 0; then 8 bytes, of which byte j holds elements j and j + 8.
struct NVFP4 : Format<NVFP4, 64u, 36u, 12> {
  enum { step_elements = 16 };
  enum { order = group_pairs_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint word = word_at(block, 4u + 8u * g + 4u * (q & 1u));
    return float4_codes(word, 2u * (q & 2u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint d = byte_at(block, g);
    uint magnitude = d & 127u;
    float small = float(magnitude) * 0.0009765625f;
    float normal = as_type<float>((magnitude << 20) + (119u << 23));
    float scale = magnitude < 8u ? small : normal;
    return d == 127u ? 0.0f : scale;
  }
};

}  // namespace packed_formats
