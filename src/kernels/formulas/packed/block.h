// What the block formats share: how a block's bytes are read, and what an element is.
//
// A format F is a struct that says of its blocks
//   F::elements, F::bytes      elements of a block, and its bytes
//   F::four(block, g, q)       the codes of elements 16 g + 4 q and the three behind it, of 8 bits
//                              each, the first in the lowest bits
//   F::code(block, e)          the code of element e
//   F::lifted(block, g, q)     the codes as they lie, shifted up by F::lift(g) bits, still in 8
//                              bits
//   F::together, F::apart      how many units of 32 elements, each that many units behind the one
//                              before, share most bytes
//   F::book, F::order          words of a copy of its codebook that kernels look up, 0 of most;
//                              how kernels order the codes that they multiply
//   F::step(block, g)          the step of group g: of elements 16 g to 16 g + 15
//   F::step_elements           32 where steps of groups 2 u and 2 u + 1 are the same, and what is
//                              subtracted; else 16
//   F::least(block, g)         what is subtracted, 0 unless F::has_least
// and element e is step * (code - F::zero) - least, in f32. Either the product or the difference is
// exact where steps are halves, so a fused multiply-add gives the same bits; they are those of
// ggml's reference.
//
// `block` is a pointer to const bytes in any address space, or what can be indexed as one. Blocks
// are aligned to a byte or two, so a word is composed of bytes. Plain C++14, no header: the target
// has uchar, ushort, uint, half, as_type<T>(), HEARTH_INLINE and `constant` for tables.
#pragma once

namespace packed_formats {

template <class Bytes>
HEARTH_INLINE uint byte_at(Bytes block, uint at) {
  return uint(block[at]);
}
// Little-endian.
template <class Bytes>
HEARTH_INLINE uint pair_at(Bytes block, uint at) {
  return uint(block[at]) | (uint(block[at + 1u]) << 8);
}
template <class Bytes>
HEARTH_INLINE uint word_at(Bytes block, uint at) {
  return uint(block[at]) | (uint(block[at + 1u]) << 8) | (uint(block[at + 2u]) << 16) |
         (uint(block[at + 3u]) << 24);
}
// The 32 bits from bit `bit` < 8 of byte `at` on, of which the last `bit` may be any.
template <class Bytes>
HEARTH_INLINE uint bits_at(Bytes block, uint at, uint bit) {
  return word_at(block, at) >> bit;
}
template <class Bytes>
HEARTH_INLINE float half_at(Bytes block, uint at) {
  return float(as_type<half>(ushort(pair_at(block, at))));
}
// Of n values of 4 bits, the low half of a byte before the high half.
template <class Bytes>
HEARTH_INLINE uint nibble_at(Bytes block, uint at, uint n) {
  return (byte_at(block, at + (n >> 1)) >> (4u * (n & 1u))) & 15u;
}

// The same value in four bytes.
constexpr constant uint kFour = 0x01010101u;

// Four values of 1, 2 or 4 bits, the first in the lowest, into four bytes.
HEARTH_INLINE uint spread_bits(uint bits) { return ((bits & 15u) * 0x00204081u) & kFour; }
HEARTH_INLINE uint spread_pairs(uint byte) {
  uint halves = (byte & 0x0fu) | ((byte & 0xf0u) << 12);
  return (halves | (halves << 6)) & (3u * kFour);
}
HEARTH_INLINE uint spread_nibbles(uint pair) {
  uint halves = (pair & 0x00ffu) | ((pair & 0xff00u) << 8);
  return (halves | (halves << 4)) & (15u * kFour);
}

// zero + magnitude in four bytes, or zero - magnitude where the byte of `negative` is 1 and not 0.
// 0 <= magnitude <= zero < 128.
HEARTH_INLINE uint signed_codes(uint zero, uint magnitudes, uint negative) {
  uint positive = (negative ^ kFour) * 255u;
  return zero * kFour - magnitudes + ((magnitudes & positive) << 1);
}

#if HEARTH_HAS_PICK4
// Bytes of a table of 16, in four words, by the nibbles of a word: those of the first two bytes and
// those of the last two. Where much is looked up, t0 and t2 are metal::kept().
HEARTH_INLINE uint2 pick_by_halves(uint word, uint t0, uint t1, uint t2, uint t3) {
  // Places within a half of the table, and of a nibble's top bit, which half.
  uint places = word & 0x77777777u, halves = ((word & 0x88888888u) >> 1) | 0x32103210u;
  uint first = metal::pick4(metal::pick4(t0, t1, places), metal::pick4(t2, t3, places), halves);
  places >>= 16;
  uint last =
      metal::pick4(metal::pick4(t0, t1, places), metal::pick4(t2, t3, places), halves >> 16);
  return uint2(first, last);
}
// The same by the low (shift 0) or the high (4) nibbles of a word.
HEARTH_INLINE uint pick_by_nibbles(uint word, uint shift, uint t0, uint t1, uint t2, uint t3) {
  uint2 picked = pick_by_halves(word, t0, t1, t2, t3);
  return metal::pick4(picked.x, picked.y, shift == 0u ? 0x6420u : 0x7531u);
}
// Bytes of a table of eight, in two words, by the bytes of a word, which are below 8.
HEARTH_INLINE uint pick_by_bytes(uint word, uint t0, uint t1) {
  return metal::pick4(metal::pick4(t0, t1, word), metal::pick4(t0, t1, word >> 16), 0x6420u);
}
#endif

// Orders of codes. Of eight in two words: as they are; elements 3, 7, 2, 6 and 1, 5, 0, 4; elements
// 3, 2, 1, 0 and 7, 6, 5, 4. Of bytes that hold two codes, where word q has bytes 4 q to 4 q + 3 of
// elements i and i + 16 or i + 8: those of two bytes after those of the other two, in words q and
// 4 + q of a unit, or in words 2 q and 2 q + 1 of a group.
enum { natural_order, split_order, reversed_order, unit_pairs_order, group_pairs_order };

// The base of format F.
template <class F, uint kElements, uint kBytes, int kZero>
struct Format {
  enum { elements = kElements, bytes = kBytes };
  enum { zero = kZero };
  enum { has_least = 0 };
  enum { step_elements = 32 };
  enum { together = 2, apart = 1 };
  enum { book = 0, order = natural_order };

  static HEARTH_INLINE uint lift(uint) { return 0u; }
  template <class Bytes>
  static HEARTH_INLINE uint lifted(Bytes block, uint g, uint q) {
    return F::four(block, g, q);
  }
  template <class Bytes>
  static HEARTH_INLINE uint code(Bytes block, uint e) {
    return (F::four(block, e >> 4, (e >> 2) & 3u) >> (8u * (e & 3u))) & 255u;
  }
  template <class Bytes>
  static HEARTH_INLINE float least(Bytes, uint) {
    return 0.0f;
  }
};

template <class F>
HEARTH_INLINE float element_of_code(uint code, float step, float least) {
  float product = step * float(int(code) - int(F::zero));
  return F::has_least != 0 ? product - least : product;
}

template <class F, class Bytes>
HEARTH_INLINE float element_of(Bytes block, uint e) {
  return element_of_code<F>(F::code(block, e), F::step(block, e >> 4), F::least(block, e >> 4));
}

// kCount elements from `first` on, of one group: kCount is 4, 8 or 16, and divides `first`.
template <class F, uint kCount, class Bytes, class Out>
HEARTH_INLINE void elements_of(Bytes block, uint first, Out out) {
  uint group = first >> 4;
  float step = F::step(block, group);
  float least = F::least(block, group);
  for (uint i = 0u; i < kCount; i += 4u) {
    uint codes = F::four(block, group, ((first + i) >> 2) & 3u);
    out[i] = element_of_code<F>(codes & 255u, step, least);
    out[i + 1u] = element_of_code<F>((codes >> 8) & 255u, step, least);
    out[i + 2u] = element_of_code<F>((codes >> 16) & 255u, step, least);
    out[i + 3u] = element_of_code<F>(codes >> 24, step, least);
  }
}

}  // namespace packed_formats
