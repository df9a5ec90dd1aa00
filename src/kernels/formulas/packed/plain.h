// Formats with one scale a block: codes of 1 to 8 bits, times a scale d, plus a least value m.
#pragma once

#include "kernels/formulas/packed/block.h"

namespace packed_formats {

// ---- Codes of 1 and 2 bits, in order

// d [2], qs [16]: -d or d.
struct Q1_0 : Format<Q1_0, 128u, 18u, 1> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return spread_bits(nibble_at(block, 2u, 4u * g + q)) << 1;
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// d [2], qs [16]: -d, 0, d or 2 d.
struct Q2_0 : Format<Q2_0, 64u, 18u, 1> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return spread_pairs(byte_at(block, 2u + 4u * g + q));
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// ---- Codes of 4 and 5 bits: byte j holds those of elements j and j + 16

// Of the nibbles from `at` on.
template <class Bytes>
HEARTH_INLINE uint four_split_nibbles(Bytes block, uint at, uint g, uint q) {
  return (word_at(block, at + 4u * q) >> (4u * g)) & (15u * kFour);
}
// The same where they lie: shifted up by 4 g bits.
template <class Bytes>
HEARTH_INLINE uint four_lifted_nibbles(Bytes block, uint at, uint g, uint q) {
  return word_at(block, at + 4u * q) & ((15u * kFour) << (4u * g));
}
// Fifth bits, which lie in order from `at` on.
template <class Bytes>
HEARTH_INLINE uint four_fifth_bits(Bytes block, uint at, uint g, uint q) {
  return spread_bits(nibble_at(block, at, 4u * g + q)) << 4;
}

// d [2], qs [16].
struct Q4_0 : Format<Q4_0, 32u, 18u, 8> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_split_nibbles(block, 2u, g, q);
  }
  static HEARTH_INLINE uint lift(uint g) { return 4u * g; }
  template <class Bytes>
  static HEARTH_INLINE uint lifted(Bytes block, uint g, uint q) {
    return four_lifted_nibbles(block, 2u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// d [2], m [2], qs [16].
struct Q4_1 : Format<Q4_1, 32u, 20u, 0> {
  enum { has_least = 1 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_split_nibbles(block, 4u, g, q);
  }
  static HEARTH_INLINE uint lift(uint g) { return 4u * g; }
  template <class Bytes>
  static HEARTH_INLINE uint lifted(Bytes block, uint g, uint q) {
    return four_lifted_nibbles(block, 4u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes block, uint) {
    return -half_at(block, 2u);
  }
};

// d [2], qh [4], qs [16].
struct Q5_0 : Format<Q5_0, 32u, 22u, 16> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_split_nibbles(block, 6u, g, q) | four_fifth_bits(block, 2u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// d [2], m [2], qh [4], qs [16].
struct Q5_1 : Format<Q5_1, 32u, 24u, 0> {
  enum { has_least = 1 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_split_nibbles(block, 8u, g, q) | four_fifth_bits(block, 4u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes block, uint) {
    return -half_at(block, 2u);
  }
};

// ---- Signed bytes, in order: the code is the byte with its sign bit inverted

template <class Bytes>
HEARTH_INLINE uint four_signed_bytes(Bytes block, uint at, uint g, uint q) {
  return word_at(block, at + 16u * g + 4u * q) ^ (128u * kFour);
}

// d [2], qs [32].
struct Q8_0 : Format<Q8_0, 32u, 34u, 128> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_signed_bytes(block, 2u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// d [2], s [2], qs [32]: s is the sum of the elements.
struct Q8_1 : Format<Q8_1, 32u, 36u, 128> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_signed_bytes(block, 4u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return half_at(block, 0u);
  }
};

// d [4] in f32, qs [256], sums [32] of the codes of each group.
struct Q8_K : Format<Q8_K, 256u, 292u, 128> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_signed_bytes(block, 4u, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return as_type<float>(word_at(block, 0u));
  }
};

}  // namespace packed_formats
