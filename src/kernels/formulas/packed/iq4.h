// Formats of 4-bit codes that name one of 16 unevenly spaced values.
#pragma once

#include "kernels/formulas/packed/block.h"

namespace packed_formats {

// The values, plus 127.
constant uchar kUnevenCodes[16] = {0,   23,  44,  62,  78,  92,  105, 117,
                                   128, 140, 152, 165, 180, 196, 216, 240};

// Of the nibbles of four bytes, low (shift 0) or high ones (4).
HEARTH_INLINE uint uneven_codes(uint word, uint shift) {
#if HEARTH_HAS_PICK4
  return pick_by_nibbles(word, shift, metal::kept(0x3e2c1700u), 0x75695c4eu,
                         metal::kept(0xa5988c80u), 0xf0d8c4b4u);
#else
  uint nibbles = word >> shift;
  return uint(kUnevenCodes[nibbles & 15u]) | (uint(kUnevenCodes[(nibbles >> 8) & 15u]) << 8) |
         (uint(kUnevenCodes[(nibbles >> 16) & 15u]) << 16) |
         (uint(kUnevenCodes[(nibbles >> 24) & 15u]) << 24);
#endif
}

// d [2], qs [16]: byte j holds elements j and j + 16.
struct IQ4_NL : Format<IQ4_NL, 32u, 18u, 127> {
  enum { order = unit_pairs_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return uneven_codes(word_at(block, 2u + 4u * q), 4u * g);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// d [2], scales_h [2], scales_l [4], qs [128]: for 32 elements each a scale of 6 bits, less 32, the
// high 2 and the low 4 apart, and 16 bytes as above.
struct IQ4_XS : Format<IQ4_XS, 256u, 136u, 127> {
  enum { order = unit_pairs_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return uneven_codes(word_at(block, 8u + 16u * (g >> 1) + 4u * q), 4u * (g & 1u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint k = g >> 1;
    uint high = (pair_at(block, 2u) >> (2u * k)) & 3u;
    return half_at(block, 0u) * float(int(nibble_at(block, 4u, k) | (high << 4)) - 32);
  }
};

}  // namespace packed_formats
