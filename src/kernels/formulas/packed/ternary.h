// Formats of -1, 0 and 1 times one scale.
#pragma once

#include "kernels/formulas/packed/super.h"

namespace packed_formats {

// qs [48], qh [4], d [2]: a byte is a fraction of 256 whose digits to the base of 3, the first
// behind the point first, are codes. 32 bytes have 5 digits each, 16 have 5, 4 have 4; digits of
// one place lie together.
struct TQ1_0 : Format<TQ1_0, 256u, 54u, 1> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint at = g < 10u ? place_in_32(g, q) : g < 15u ? 32u + 4u * q : 48u;
    uint digit = g < 10u ? g >> 1 : g < 15u ? g - 10u : q;
    uint power = digit < 4u ? (0x1b090301u >> (8u * digit)) & 255u : 81u;
    uint word = word_at(block, at);
    uint even = ((word & 0x00ff00ffu) * power) & 0x00ff00ffu;
    uint odd = (((word >> 8) & 0x00ff00ffu) * power) & 0x00ff00ffu;
    return (((even * 3u) >> 8) & 0x00030003u) | ((odd * 3u) & 0x03000300u);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 52u);
  }
};

// qs [64], d [2].
struct TQ2_0 : Format<TQ2_0, 256u, 66u, 1> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_planes(block, 0u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 64u);
  }
};

}  // namespace packed_formats
