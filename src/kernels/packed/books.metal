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

// How words are made: entry(i) of the book; word(book, block, g, q), codes of elements 16 g + 4 q
// and the three behind it, or what has their place in the order; unit(), the eight words of a unit
// that begins with group g.
struct NoBook {
  static HEARTH_INLINE uint entry(uint) { return 0u; }
};

// Made of B::word() one by one.
template <typename B>
struct Words : NoBook {
  template <typename Block>
  static HEARTH_INLINE void unit(threadgroup const uint* book, Block block, uint g,
                                 thread uint* codes) {
#pragma unroll
    for (uint i = 0u; i < 8u; ++i) codes[i] = B::word(book, block, g + (i >> 2), i & 3u);
  }
};
// Made of B::eight(), the two words of half h of group g.
template <typename B>
struct Eights : NoBook {
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint* book, Block block, uint g, uint q) {
    uint2 both = B::eight(book, block, g, q >> 1);
    return (q & 1u) == 0u ? both.x : both.y;
  }
  template <typename Block>
  static HEARTH_INLINE void unit(threadgroup const uint* book, Block block, uint g,
                                 thread uint* codes) {
#pragma unroll
    for (uint i = 0u; i < 4u; ++i) {
      uint2 both = B::eight(book, block, g + (i >> 1), i & 1u);
      codes[2u * i] = both.x;
      codes[2u * i + 1u] = both.y;
    }
  }
};
template <typename F>
struct Book : Words<Book<F>> {
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint*, Block block, uint g, uint q) {
    return F::lifted(block, g, q);
  }
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
  static HEARTH_INLINE uint2 codes(uint entry, uint signs) {
    uint nibbles = entry ^ ((signs >> 1) & 0x44444444u);
    return uint2(pick_of_table(0x00564433u, 0x00001223u, nibbles),
                 pick_of_table(0x00564433u, 0x00001223u, nibbles >> 16));
  }
};

template <>
struct Book<IQ2_XXS> : Eights<Book<IQ2_XXS>> {
  static HEARTH_INLINE uint entry(uint i) { return SignedNibbles::split(kIq2Xxs[i]); }
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint at = 2u + 8u * (g >> 1), eighth = 2u * (g & 1u) + h;
    uint entry = book[(word_at(block, at) >> (8u * eighth)) & 255u];
    uint seven = (word_at(block, at + 4u) >> (7u * eighth)) & 127u;
    return SignedNibbles::codes(entry, even_nibble_signs(seven));
  }
};

template <>
struct Book<IQ2_XS> : Eights<Book<IQ2_XS>> {
  static HEARTH_INLINE uint entry(uint i) { return SignedNibbles::split(kIq2Xs[i]); }
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint pair = pair_at(block, 2u + 4u * g + 2u * h);
    return SignedNibbles::codes(book[pair & 511u], even_nibble_signs(pair >> 9));
  }
};

template <>
struct Book<IQ2_S> : Eights<Book<IQ2_S>> {
  static HEARTH_INLINE uint entry(uint i) { return SignedNibbles::split(kIq2S[i]); }
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint eighth = 2u * g + h;
    uint high = (byte_at(block, 66u + (eighth >> 2)) << (8u - 2u * (eighth & 3u))) & 0x300u;
    uint entry = book[byte_at(block, 2u + eighth) | high];
    return SignedNibbles::codes(entry, nibble_signs(byte_at(block, 34u + eighth)));
  }
};

// ---- iq3: bytes, of elements in reversed_order, and the codes of negative ones

template <>
struct Book<IQ3_XXS> : Eights<Book<IQ3_XXS>> {
  static HEARTH_INLINE uint entry(uint i) {
    uint codes = 62u * kFour + iq3_xxs_magnitudes(kIq3Xxs[i]);
    return pick_bytes(codes, codes, 0x0123u);
  }
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint word = word_at(block, 66u + 4u * (g >> 1)), pair = pair_at(block, 2u + 4u * g + 2u * h);
    uint signs = even_nibble_signs((word >> (7u * (2u * (g & 1u) + h))) & 127u);
    return uint2(one(book[pair & 255u], byte_signs(signs, 0u)),
                 one(book[pair >> 8], byte_signs(signs, 1u)));
  }
  // 124 - code is 127 - code, less 3.
  static HEARTH_INLINE uint one(uint codes, uint negative) {
    return (codes ^ (negative & (127u * kFour))) - (negative & (3u * kFour));
  }
};

template <>
struct Book<IQ3_S> : Eights<Book<IQ3_S>> {
  static HEARTH_INLINE uint entry(uint i) {
    uint codes = 15u * kFour + iq3_s_magnitudes(kIq3S[i]);
    return pick_bytes(codes, codes, 0x0123u);
  }
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint high = byte_at(block, 66u + (g >> 1)) << (8u - 4u * (g & 1u) - 2u * h);
    uint pair = pair_at(block, 2u + 4u * g + 2u * h);
    uint signs = nibble_signs(byte_at(block, 74u + 2u * g + h));
    // 30 - code, as all codes are even.
    return uint2(
        book[(pair & 255u) | (high & 256u)] ^ (byte_signs(signs, 0u) & (30u * kFour)),
        book[(pair >> 8) | ((high >> 1) & 256u)] ^ (byte_signs(signs, 1u) & (30u * kFour)));
  }
};

// ---- iq1: nibbles in order, of which the third bit says that the eighth is subtracted

template <typename B>
struct EighthNibbles : Eights<B> {
  static HEARTH_INLINE uint2 codes(uint entry, uint is_less) {
    uint nibbles = entry + is_less * 0x44444444u;
    return uint2(pick_of_table(0x00120a02u, 0x00100800u, nibbles),
                 pick_of_table(0x00120a02u, 0x00100800u, nibbles >> 16));
  }
  static HEARTH_INLINE uint entry(uint i) {
    uint values = kIq1[i], made = 0u;
#pragma unroll
    for (uint e = 0u; e < 8u; ++e) made |= ((values >> (2u * e)) & 3u) << (4u * e);
    return made;
  }
};

template <>
struct Book<IQ1_S> : EighthNibbles<Book<IQ1_S>> {
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint eighth = 2u * g + h;
    uint pair = pair_at(block, 34u + (g & 14u));
    uint high = (pair >> (3u * (eighth & 3u))) & 7u;
    return EighthNibbles<Book<IQ1_S>>::codes(book[byte_at(block, 2u + eighth) | (high << 8)],
                                             pair >> 15);
  }
};

template <>
struct Book<IQ1_M> : EighthNibbles<Book<IQ1_M>> {
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint* book, Block block, uint g, uint h) {
    uint eighth = 2u * g + h;
    uint high = nibble_at(block, 32u, eighth);
    return EighthNibbles<Book<IQ1_M>>::codes(book[byte_at(block, eighth) | ((high & 7u) << 8)],
                                             high >> 3);
  }
};

// ---- Nibbles that name bytes of a table of 16, two a byte

// Of two words of codes, of the low and of the high nibbles: those of two bytes, then of the
// others.
HEARTH_INLINE uint2 pairs_of_bytes(uint low, uint high) {
  return uint2(pick_bytes(low, high, 0x5140u), pick_bytes(low, high, 0x7362u));
}
HEARTH_INLINE uint2 float4_pairs(uint word) {
#if HEARTH_HAS_PICK4
  return pick_by_halves(word, metal::kept(0x0f0e0d0cu), 0x18141210u, metal::kept(0x090a0b0cu),
                        0x00040608u);
#else
  return pairs_of_bytes(float4_codes(word, 0u), float4_codes(word, 4u));
#endif
}
HEARTH_INLINE uint2 uneven_pairs(uint word) {
#if HEARTH_HAS_PICK4
  return pick_by_halves(word, metal::kept(0x3e2c1700u), 0x75695c4eu, metal::kept(0xa5988c80u),
                        0xf0d8c4b4u);
#else
  return pairs_of_bytes(uneven_codes(word, 0u), uneven_codes(word, 4u));
#endif
}

// Formats whose words have codes of both groups of a unit. B::pairs(block, g, q): of word q.
template <typename B>
struct UnitPairs : NoBook {
  template <typename Block>
  static HEARTH_INLINE uint word(threadgroup const uint*, Block block, uint g, uint q) {
    uint2 both = B::pairs(block, g & ~1u, q);
    return (g & 1u) == 0u ? both.x : both.y;
  }
  template <typename Block>
  static HEARTH_INLINE void unit(threadgroup const uint*, Block block, uint g, thread uint* codes) {
#pragma unroll
    for (uint q = 0u; q < 4u; ++q) {
      uint2 both = B::pairs(block, g, q);
      codes[q] = both.x;
      codes[4u + q] = both.y;
    }
  }
};

template <>
struct Book<MXFP4> : UnitPairs<Book<MXFP4>> {
  template <typename Block>
  static HEARTH_INLINE uint2 pairs(Block block, uint, uint q) {
    return float4_pairs(word_at(block, 1u + 4u * q));
  }
};
template <>
struct Book<IQ4_NL> : UnitPairs<Book<IQ4_NL>> {
  template <typename Block>
  static HEARTH_INLINE uint2 pairs(Block block, uint, uint q) {
    return uneven_pairs(word_at(block, 2u + 4u * q));
  }
};
template <>
struct Book<IQ4_XS> : UnitPairs<Book<IQ4_XS>> {
  template <typename Block>
  static HEARTH_INLINE uint2 pairs(Block block, uint g, uint q) {
    return uneven_pairs(word_at(block, 8u + 8u * g + 4u * q));
  }
};

template <>
struct Book<NVFP4> : Eights<Book<NVFP4>> {
  template <typename Block>
  static HEARTH_INLINE uint2 eight(threadgroup const uint*, Block block, uint g, uint h) {
    return float4_pairs(word_at(block, 4u + 8u * g + 4u * h));
  }
};

// Copies the book of F; a barrier is to follow.
template <typename F>
HEARTH_INLINE void fill_book(threadgroup uint4* to, thread const Ctx& ctx) {
  for (uint i = ctx.tid.x; i < uint(F::book); i += ctx.ntid.x) {
    ((threadgroup uint*)to)[i] = Book<F>::entry(i);
  }
}
