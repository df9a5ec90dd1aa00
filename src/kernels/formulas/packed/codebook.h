// Formats whose codes name vectors of 8 or 4 magnitudes in a codebook (iq2, iq3), with signs beside
// them, or vectors of -1, 0 and 1, to which an eighth is added or subtracted (iq1).
#pragma once

#include "kernels/formulas/packed/block.h"
#include "kernels/formulas/packed/codebooks.h"

namespace packed_formats {

// ---- Signs and magnitudes

// 7 signs and, above them, the one that makes their number even.
HEARTH_INLINE uint eight_signs(uint seven) {
  uint parity = (0x6996u >> ((seven ^ (seven >> 4)) & 15u)) & 1u;
  return seven | (parity << 7);
}
// Those of four elements: the first or the last of eight.
HEARTH_INLINE uint four_signs(uint eight, uint half_of_eight) {
  return spread_bits(eight >> (4u * half_of_eight));
}
// Half of an entry of 8 values of 2 bits, which stand for 8, 25 and 43.
HEARTH_INLINE uint iq2_magnitudes(uint entry, uint half_of_eight) {
  uint two_bits = spread_pairs((entry >> (8u * half_of_eight)) & 255u);
  return 8u * kFour + (two_bits & kFour) * 17u + ((two_bits >> 1) & kFour) * 35u;
}
// An entry of 4 values of 4 bits, of which 0 to 7 stand for 4, 12, 20 ... 52, and 62.
HEARTH_INLINE uint iq3_xxs_magnitudes(uint entry) {
  uint x = spread_nibbles(entry);
  return 4u * kFour + (x << 3) + ((x & (x >> 1) & (x >> 2) & kFour) << 1);
}
// The same, of which they stand for 1, 3, 5 ... 15.
HEARTH_INLINE uint iq3_s_magnitudes(uint entry) { return kFour + (spread_nibbles(entry) << 1); }

// ---- 8 magnitudes an entry

// d [2], then for 32 elements each 4 entries of 8 bits, and a word: 4 times 7 signs, and 4 bits of
// scale.
struct IQ2_XXS : Format<IQ2_XXS, 256u, 66u, 43> {
  enum { book = 256, order = split_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint at = 2u + 8u * (g >> 1);
    uint eighth = 2u * (g & 1u) + (q >> 1);
    uint entry = kIq2Xxs[byte_at(block, at + eighth)];
    uint signs = eight_signs((word_at(block, at + 4u) >> (7u * eighth)) & 127u);
    return signed_codes(43u, iq2_magnitudes(entry, q & 1u), four_signs(signs, q & 1u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint scale = byte_at(block, 9u + 8u * (g >> 1)) >> 4;
    return half_at(block, 0u) * (0.5f + float(scale)) * 0.25f;
  }
};

// d [2], qs [64], scales [8]: 9 bits of entry and 7 signs for 8 elements, 4 bits of scale for 16.
struct IQ2_XS : Format<IQ2_XS, 256u, 74u, 43> {
  enum { book = 512, order = split_order };
  enum { step_elements = 16 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint pair = pair_at(block, 2u + 4u * g + (q & 2u));
    uint magnitudes = iq2_magnitudes(kIq2Xs[pair & 511u], q & 1u);
    return signed_codes(43u, magnitudes, four_signs(eight_signs(pair >> 9), q & 1u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 0u) * (0.5f + float(nibble_at(block, 66u, g))) * 0.25f;
  }
};

// d [2], qs [32], signs [32], qh [8], scales [8]: entries of 8 bits and, in qh, 2 more.
struct IQ2_S : Format<IQ2_S, 256u, 82u, 43> {
  enum { book = 1024, order = split_order };
  enum { step_elements = 16 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint eighth = 2u * g + (q >> 1);
    uint high = (byte_at(block, 66u + (eighth >> 2)) >> (2u * (eighth & 3u))) & 3u;
    uint magnitudes = iq2_magnitudes(kIq2S[byte_at(block, 2u + eighth) | (high << 8)], q & 1u);
    return signed_codes(43u, magnitudes, four_signs(byte_at(block, 34u + eighth), q & 1u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 0u) * (0.5f + float(nibble_at(block, 74u, g))) * 0.25f;
  }
};

// ---- 4 magnitudes an entry

// d [2], qs [64], signs and scales [32]: a word for 32 elements, as of iq2_xxs.
struct IQ3_XXS : Format<IQ3_XXS, 256u, 98u, 62> {
  enum { book = 256, order = reversed_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint word = word_at(block, 66u + 4u * (g >> 1));
    uint signs = eight_signs((word >> (7u * (2u * (g & 1u) + (q >> 1)))) & 127u);
    uint magnitudes = iq3_xxs_magnitudes(kIq3Xxs[byte_at(block, 2u + 4u * g + q)]);
    return signed_codes(62u, magnitudes, four_signs(signs, q & 1u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint scale = byte_at(block, 69u + 4u * (g >> 1)) >> 4;
    return half_at(block, 0u) * (0.5f + float(scale)) * 0.5f;
  }
};

// d [2], qs [64], qh [8], signs [32], scales [4]: entries of 8 bits and, in qh, one more; 4 bits of
// scale for 32 elements.
struct IQ3_S : Format<IQ3_S, 256u, 110u, 15> {
  enum { book = 512, order = reversed_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint high = (byte_at(block, 66u + (g >> 1)) >> (4u * (g & 1u) + q)) & 1u;
    uint entry = kIq3S[byte_at(block, 2u + 4u * g + q) | (high << 8)];
    uint signs = byte_at(block, 74u + 2u * g + (q >> 1));
    return signed_codes(15u, iq3_s_magnitudes(entry), four_signs(signs, q & 1u));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    return half_at(block, 0u) * float(1u + 2u * nibble_at(block, 106u, g >> 1));
  }
};

// ---- 8 of -1, 0 and 1 an entry: codes are in eighths

HEARTH_INLINE uint iq1_codes(uint entry, uint half_of_eight, uint is_less) {
  uint two_bits = spread_pairs((entry >> (8u * half_of_eight)) & 255u);
  return (two_bits << 3) + (is_less != 0u ? 0u : 2u * kFour);
}

// d [2], qs [32], qh [16]: entries of 8 bits; for 32 elements a pair: 3 more bits of each of 4
// entries, 3 bits of scale, and whether the eighth is subtracted.
struct IQ1_S : Format<IQ1_S, 256u, 50u, 9> {
  enum { book = 2048, order = natural_order };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint eighth = 2u * g + (q >> 1);
    uint pair = pair_at(block, 34u + (g & 14u));
    uint high = (pair >> (3u * (eighth & 3u))) & 7u;
    return iq1_codes(kIq1[byte_at(block, 2u + eighth) | (high << 8)], q & 1u, pair >> 15);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint scale = (byte_at(block, 35u + (g & 14u)) >> 4) & 7u;
    return half_at(block, 0u) * float(2u * scale + 1u) * 0.125f;
  }
};

// qs [32], qh [16], scales [8]: entries of 8 bits, for each 4 bits: 3 more, and whether the eighth
// is subtracted. Four pairs have 3 bits of scale for 16 elements each, and a quarter of d.
struct IQ1_M : Format<IQ1_M, 256u, 56u, 9> {
  enum { book = 2048, order = natural_order };
  enum { step_elements = 16 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    uint eighth = 2u * g + (q >> 1);
    uint high = nibble_at(block, 32u, eighth);
    uint entry = kIq1[byte_at(block, eighth) | ((high & 7u) << 8)];
    return iq1_codes(entry, q & 1u, high >> 3);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint g) {
    uint scale = (pair_at(block, 48u + 2u * (g >> 2)) >> (3u * (g & 3u))) & 7u;
    uint low = (byte_at(block, 49u) >> 4) | (byte_at(block, 51u) & 0xf0u);
    uint high = (byte_at(block, 53u) >> 4) | (byte_at(block, 55u) & 0xf0u);
    return float(as_type<half>(ushort(low | (high << 8)))) * float(2u * scale + 1u) * 0.125f;
  }
};

}  // namespace packed_formats
