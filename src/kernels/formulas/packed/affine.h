// Codes as MLX has them: a scale d and an offset c in f32, which hold those of f16 and of bf16.
#pragma once

#include "kernels/formulas/packed/plain.h"

namespace packed_formats {

// Blocks that begin with d [4] and c [4].
template <class F, uint kBytes, int kZero>
struct Affine : Format<F, 32u, kBytes, kZero> {
  enum { has_least = 1 };
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes block, uint) {
    return as_type<float>(word_at(block, 0u));
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes block, uint) {
    return -as_type<float>(word_at(block, 4u));
  }
};

// d [4] and c [4] in f32, high pairs of bits [8] in order, low nibbles [16]: d * code + c.
struct AFFINE6 : Affine<AFFINE6, 32u, 0> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return four_split_nibbles(block, 16u, g, q) | spread_pairs(byte_at(block, 8u + 4u * g + q))
                                                      << 4;
  }
};

// d [4] and c [4] in f32, codes [32] in order: d * (code - 128) + c, since codes less zero are
// signed bytes.
struct AFFINE8 : Affine<AFFINE8, 40u, 128> {
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes block, uint g, uint q) {
    return word_at(block, 8u + 16u * g + 4u * q);
  }
};

}  // namespace packed_formats
