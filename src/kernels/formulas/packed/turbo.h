// Rows of TurboQuant (hearth/quantization/packed.h): a scale in front, codes of 2 to 4 bits that
// name values of a codebook; and the rows of block formats seen alike.
//
// A row format R says of its rows
//   R::head, R::bytes          bytes in front of all blocks, and of a block of 32 elements
//   R::zero                    what is subtracted from a code
//   R::step(row, b)            the step of block b
//   R::four(row, b, g, q)      codes of elements 16 g + 4 q and the three behind it of block b, as
//                              a format's (block.h)
// and an element is step * (code - zero), in f32.
#pragma once

#include "kernels/formulas/packed/block.h"

namespace packed_formats {

template <class F>
struct BlockRow {
  enum { head = 0, bytes = F::bytes, zero = F::zero };
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes row, uint b) {
    return F::step(row + b * uint(F::bytes), 0u);
  }
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes row, uint b, uint g, uint q) {
    return F::four(row + b * uint(F::bytes), g, q);
  }
};

// Codebooks plus 128: the fixed points of Lloyd and Max for a normal variable, in units of which
// the nearest integers leave the error of a row what it is.
constexpr constant uchar kTurboCodes2[4] = {1, 90, 166, 255};
constexpr constant uchar kTurboCodes3[8] = {14, 57, 88, 115, 141, 168, 199, 242};
constexpr constant uchar kTurboCodes4[16] = {24,  49,  66,  80,  92,  103, 113, 123,
                                             133, 143, 153, 164, 176, 190, 207, 232};

struct TurboRow {
  enum { head = 4, zero = 128 };
  template <class Bytes>
  static HEARTH_INLINE float step(Bytes row, uint) {
    return as_type<float>(word_at(row, 0u));
  }
};

struct Turbo2 : TurboRow {
  enum { bytes = 8 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes row, uint b, uint g, uint q) {
    uint word = word_at(row, 4u + 8u * b + 4u * (q & 1u)) >> (4u * g + 2u * (q >> 1));
#if HEARTH_HAS_PICK4
    return pick_by_bytes(word & (3u * kFour), 0xffa65a01u, 0u);
#else
    return uint(kTurboCodes2[word & 3u]) | (uint(kTurboCodes2[(word >> 8) & 3u]) << 8) |
           (uint(kTurboCodes2[(word >> 16) & 3u]) << 16) |
           (uint(kTurboCodes2[(word >> 24) & 3u]) << 24);
#endif
  }
};

struct Turbo3 : TurboRow {
  enum { bytes = 12 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes row, uint b, uint g, uint q) {
    uint low = word_at(row, 4u + 12u * b + 4u * (q & 1u)) >> (4u * g + 2u * (q >> 1));
    uint third = spread_bits(nibble_at(row, 12u + 12u * b, 4u * g + q)) << 2;
    uint word = (low & (3u * kFour)) | third;
#if HEARTH_HAS_PICK4
    return pick_by_bytes(word, 0x7358390eu, 0xf2c7a88du);
#else
    return uint(kTurboCodes3[word & 7u]) | (uint(kTurboCodes3[(word >> 8) & 7u]) << 8) |
           (uint(kTurboCodes3[(word >> 16) & 7u]) << 16) |
           (uint(kTurboCodes3[(word >> 24) & 7u]) << 24);
#endif
  }
};

struct Turbo4 : TurboRow {
  enum { bytes = 16 };
  template <class Bytes>
  static HEARTH_INLINE uint four(Bytes row, uint b, uint g, uint q) {
#if HEARTH_HAS_PICK4
    return pick_by_nibbles(word_at(row, 4u + 16u * b + 4u * q), 4u * g, 0x50423118u, 0x7b71675cu,
                           0xa4998f85u, 0xe8cfbeb0u);
#else
    uint word = word_at(row, 4u + 16u * b + 4u * q) >> (4u * g);
    return uint(kTurboCodes4[word & 15u]) | (uint(kTurboCodes4[(word >> 8) & 15u]) << 8) |
           (uint(kTurboCodes4[(word >> 16) & 15u]) << 16) |
           (uint(kTurboCodes4[(word >> 24) & 15u]) << 24);
#endif
  }
};

// kCount elements of a row from `first` on, of one group of 16: kCount is 4, 8 or 16.
template <class R, uint kCount, class Bytes, class Out>
HEARTH_INLINE void row_elements(Bytes row, uint first, Out out) {
  uint block = first >> 5, group = (first >> 4) & 1u;
  float step = R::step(row, block);
  for (uint i = 0u; i < kCount; i += 4u) {
    uint codes = R::four(row, block, group, ((first + i) >> 2) & 3u);
    out[i] = step * float(int(codes & 255u) - int(R::zero));
    out[i + 1u] = step * float(int((codes >> 8) & 255u) - int(R::zero));
    out[i + 2u] = step * float(int((codes >> 16) & 255u) - int(R::zero));
    out[i + 3u] = step * float(int(codes >> 24) - int(R::zero));
  }
}

}  // namespace packed_formats
