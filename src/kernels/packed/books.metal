// Codes of weights for products of bytes: words of four, in the order F::order that codes of x are
// put in (arrange_codes()). Text of the kernel dialect.
//
// Those of iq1, iq2 and iq3 are made of entries of a codebook, of which a threadgroup has a copy:
// lanes look up entries at many places at once. An entry is eight nibbles that name bytes of a
// table of eight, one bit of each being a sign (iq1, iq2), or four bytes (iq3). Signs come to all
// eight elements by one product.

#include "kernels/blocks/bytes.h"
#include "kernels/packed/staged.metal"

// Bit i of `eight` as the top bit of a nibble: of nibbles 0 to 7 those of elements 3, 7, 2, 6, 1,
// 5, 0, 4, the order of split_order. Other bits are any.
HEARTH_INLINE uint nibble_signs(uint eight) { return eight * 0x08040201u; }
// The same of 7 bits and one that makes their number even.
HEARTH_INLINE uint even_nibble_signs(uint seven) {
  return nibble_signs(seven) ^ (metal::popcount(seven) << 7);
}
// The signs of four elements, the first or the last of eight, as bytes of ones, in reversed_order.
HEARTH_INLINE uint byte_signs(uint nibbles, uint half_of_eight) {
  return negative_bytes(half_of_eight != 0u ? nibbles : nibbles << 4);
}

// How words are made: entry(i) of the book, and word(book, block, g, q), codes of elements
// 16 g + 4 q and the three behind it, or what has their place in the order.
template <typename F>
struct Book {
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint*, Block block, uint g, uint q) {
    return F::lifted(block, g, q);
  }
  static HEARTH_INLINE uint entry(uint) { return 0u; }
};

// ---- iq2: nibbles of which two bits name a magnitude, and the third is the sign

struct SignedNibbles {
  // Of 8 values of 2 bits.
  static HEARTH_INLINE uint split(uint values) {
    const uint kPlaces = 0x40516273u;  // of elements, by nibbles
    uint made = 0u;
#pragma unroll
    for (uint i = 0u; i < 8u; ++i) {
      uint element = (kPlaces >> (4u * i)) & 15u;
      made |= ((values >> (2u * element)) & 3u) << (4u * i);
    }
    return made;
  }
  static HEARTH_INLINE uint four(uint entry, uint signs, uint q) {
    uint nibbles = (entry ^ ((signs >> 1) & 0x44444444u)) >> (16u * (q & 1u));
    return pick_of_table(0x00564433u, 0x00001223u, nibbles);
  }
};

template <>
struct Book<IQ2_XXS> {
  static HEARTH_INLINE uint entry(uint i) { return SignedNibbles::split(kIq2Xxs[i]); }
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint at = 2u + 8u * (g >> 1), eighth = 2u * (g & 1u) + (q >> 1);
    uint entry = book[(word_at(block, at) >> (8u * eighth)) & 255u];
    uint seven = (word_at(block, at + 4u) >> (7u * eighth)) & 127u;
    return SignedNibbles::four(entry, even_nibble_signs(seven), q);
  }
};

template <>
struct Book<IQ2_XS> {
  static HEARTH_INLINE uint entry(uint i) { return SignedNibbles::split(kIq2Xs[i]); }
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint pair = pair_at(block, 2u + 4u * g + (q & 2u));
    return SignedNibbles::four(book[pair & 511u], even_nibble_signs(pair >> 9), q);
  }
};

template <>
struct Book<IQ2_S> {
  static HEARTH_INLINE uint entry(uint i) { return SignedNibbles::split(kIq2S[i]); }
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint eighth = 2u * g + (q >> 1);
    uint high = (byte_at(block, 66u + (eighth >> 2)) << (8u - 2u * (eighth & 3u))) & 0x300u;
    uint entry = book[byte_at(block, 2u + eighth) | high];
    return SignedNibbles::four(entry, nibble_signs(byte_at(block, 34u + eighth)), q);
  }
};

// ---- iq3: bytes, of elements in reversed_order, and the codes of negative ones

template <>
struct Book<IQ3_XXS> {
  static HEARTH_INLINE uint entry(uint i) {
    uint codes = 62u * kFour + iq3_xxs_magnitudes(kIq3Xxs[i]);
    return pick_bytes(codes, codes, 0x0123u);
  }
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint signs = word_at(block, 66u + 4u * (g >> 1));
    uint seven = (signs >> (7u * (2u * (g & 1u) + (q >> 1)))) & 127u;
    uint negative = byte_signs(even_nibble_signs(seven), q & 1u);
    // 124 - code is 127 - code, less 3.
    uint code = book[(word_at(block, 2u + 4u * g) >> (8u * q)) & 255u];
    return (code ^ (negative & (127u * kFour))) - (negative & (3u * kFour));
  }
};

template <>
struct Book<IQ3_S> {
  static HEARTH_INLINE uint entry(uint i) {
    uint codes = 15u * kFour + iq3_s_magnitudes(kIq3S[i]);
    return pick_bytes(codes, codes, 0x0123u);
  }
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint high = (byte_at(block, 66u + (g >> 1)) << (8u - 4u * (g & 1u) - q)) & 256u;
    uint entry = book[((word_at(block, 2u + 4u * g) >> (8u * q)) & 255u) | high];
    uint signs = nibble_signs(byte_at(block, 74u + 2u * g + (q >> 1)));
    // 30 - code, as all codes are even.
    return entry ^ (byte_signs(signs, q & 1u) & (30u * kFour));
  }
};

// ---- iq1: nibbles in order, of which the third bit says that the eighth is subtracted

struct EighthNibbles {
  static HEARTH_INLINE uint four(uint entry, uint is_less, uint q) {
    uint nibbles = (entry + is_less * 0x44444444u) >> (16u * (q & 1u));
    return pick_of_table(0x00120a02u, 0x00100800u, nibbles);
  }
  static HEARTH_INLINE uint entry(uint i) {
    uint values = kIq1[i], made = 0u;
#pragma unroll
    for (uint e = 0u; e < 8u; ++e) made |= ((values >> (2u * e)) & 3u) << (4u * e);
    return made;
  }
};

template <>
struct Book<IQ1_S> : EighthNibbles {
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint eighth = 2u * g + (q >> 1);
    uint pair = pair_at(block, 34u + (g & 14u));
    uint high = (pair >> (3u * (eighth & 3u))) & 7u;
    return four(book[byte_at(block, 2u + eighth) | (high << 8)], pair >> 15, q);
  }
};

template <>
struct Book<IQ1_M> : EighthNibbles {
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint eighth = 2u * g + (q >> 1);
    uint high = nibble_at(block, 32u, eighth);
    return four(book[byte_at(block, eighth) | ((high & 7u) << 8)], high >> 3, q);
  }
};

// Copies the book of F; a barrier is to follow.
template <typename F>
HEARTH_INLINE void fill_book(threadgroup uint4* to, thread const Ctx& ctx) {
  for (uint i = ctx.tid.x; i < uint(F::book); i += ctx.ntid.x) {
    ((threadgroup uint*)to)[i] = Book<F>::entry(i);
  }
}
