// Vectors of 8 columns of a cache as tensor cores multiply them, of 16-bit floats. Text of the
// kernel dialect.
//
// Lanes keep what they loaded until it is multiplied: fewer registers, and loads that overlap.
// Codes are put behind the bits of a power of two, whose difference to what the zero of codes has
// there is exact: f16 of whole numbers, for two codes at a time. Block formats multiply them by the
// step of their block, so that an element is what it would be in a cache of f16. TurboQuant has one
// step for a row, which what is multiplied with the row takes on: scores those of keys, weights
// those of values, in f32.

#include "kernels/attention/paged_codes.metal"
#include "kernels/blocks/bytes.h"
#include "kernels/blocks/half_pairs.h"

// What a lane has of a block of 32 elements of a row: of elements 4 u to 4 u + 3 and those 16
// behind, in the place of a pointer to the bytes of a row that begins with the block.
template <class R>
struct HeldCodes;  // ::Held

// Words of TurboQuant, of which all these elements share one, and of 3 bits the third bits.
template <int kBytes>
struct HeldWords {
  uint words[2];
  HEARTH_INLINE void load(device const uchar* row, int block, int u) {
    int word = kBytes == 16 ? 4 * u : 4 * (u & 1);
    words[0] = *(device const uint*)(row + (4 + kBytes * block + word));
    if (kBytes == 12) words[1] = *(device const uint*)(row + (12 + kBytes * block));
  }
  HEARTH_INLINE uint step() const { return 0u; }
  HEARTH_INLINE void clear() {}
};
template <int kBytes>
HEARTH_INLINE uint word_at(HeldWords<kBytes> held, uint) {
  return held.words[0];
}
template <int kBytes>
HEARTH_INLINE uint byte_at(HeldWords<kBytes> held, uint at) {
  return (held.words[1] >> (8u * (at - 12u))) & 255u;
}
template <>
struct HeldCodes<packed_formats::Turbo2> {
  typedef HeldWords<8> Held;
};
template <>
struct HeldCodes<packed_formats::Turbo3> {
  typedef HeldWords<12> Held;
};
template <>
struct HeldCodes<packed_formats::Turbo4> {
  typedef HeldWords<16> Held;
};

// Pairs of bytes of blocks, and their step, an f16. Both halves of nibbles share words.
template <class F, int kPairs>
struct HeldPairs {
  uint pairs[kPairs], scale;
  HEARTH_INLINE void load(device const uchar* row, int block, int u) {
    device const ushort* from = (device const ushort*)(row + int(F::bytes) * block);
    scale = uint(from[0]);
    from += 2 * u;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) pairs[i] = uint(from[1 + 8 * (i / 2) + i % 2]);
  }
  HEARTH_INLINE uint step() const { return scale * 0x00010001u; }
  HEARTH_INLINE void clear() { scale = 0u; }
  HEARTH_INLINE HeldPairs operator+(uint) const { return *this; }
};
template <class F, int kPairs>
HEARTH_INLINE uint word_at(HeldPairs<F, kPairs> held, uint at) {
  uint pair = kPairs > 2 && at >= 18u ? 2u : 0u;
  return held.pairs[pair] | (held.pairs[pair + 1u] << 16);
}
template <>
struct HeldCodes<packed_formats::BlockRow<packed_formats::Q4_0>> {
  typedef HeldPairs<packed_formats::Q4_0, 2> Held;
};
template <>
struct HeldCodes<packed_formats::BlockRow<packed_formats::Q8_0>> {
  typedef HeldPairs<packed_formats::Q8_0, 4> Held;
};

// Of a cache of paged_codes.metal:
//   split       vector `column`, a multiple of 8, of a block of 32 holds elements 4 u to 4 u + 3
//               and 16 + 4 u to 19 + 4 u of the block, where u = column / 8 % 4, as they share
//               words; else the elements from `column` on
//   row_steps   what it holds is to be multiplied by row_step()
// load() begins to read a vector, get() makes it, of zeros after clear(), but where row_steps is.
template <typename D, typename Cache>
struct CacheVector;

template <typename D>
struct CacheVector<D, PlainCache<D, true>> {
  enum { split = 0, row_steps = 0 };
  Packet<16> packet;
  HEARTH_INLINE void load(device const typename D::memory* row, int column) {
    packet = Packet<16>::read(row + column);
  }
  HEARTH_INLINE void clear() {
#pragma unroll
    for (int w = 0; w < 4; ++w) packet.word[w] = 0u;
  }
  HEARTH_INLINE Packet<16> get(uint) const { return packet; }
  static HEARTH_INLINE float row_step(device const typename D::memory*) { return 1.0f; }
};

template <typename R>
struct CacheVector<F16, CodeCache<R, true>> {
  enum { split = 1, row_steps = R::head != 0 ? 1 : 0 };
  typename HeldCodes<R>::Held held;
  HEARTH_INLINE void load(device const uchar* row, int column) {
    held.load(row, column / 32, column / 8 % 4);
  }
  HEARTH_INLINE void clear() { held.clear(); }
  // `u`: column / 8 % 4.
  HEARTH_INLINE Packet<16> get(uint u) const {
    // 1024 + code, or 8 + code / 128.
    const uint kPower = row_steps != 0 ? 0x4800u : 0x6400u;
    const uint kZero = (kPower | uint(R::zero)) * 0x00010001u;
    uint step = held.step();
    Packet<16> made;
#pragma unroll
    for (uint i = 0u; i < 2u; ++i) {
      uint codes = R::four(held, 0u, i, u);
#pragma unroll
      for (uint w = 0u; w < 2u; ++w) {
        uint two = pick_bytes(codes, kPower >> 8, w == 0u ? 0x4140u : 0x4342u);
        uint whole = half_differences(two, kZero);
        made.word[2u * i + w] = row_steps != 0 ? whole : half_products(whole, step);
      }
    }
    return made;
  }
  static HEARTH_INLINE float row_step(device const uchar* row) {
    return row_steps != 0 ? 128.0f * as_type<float>(*(device const uint*)row) : 1.0f;
  }
};

// Vector `column` of a row of floats, in the order of a cache that is split or not.
template <bool kSplit, typename M>
HEARTH_INLINE Packet<16> load_as_split(device const M* row, uint column) {
  Packet<16> made;
  if (kSplit) {
    device const M* from = row + (column & ~31u) + ((column >> 1) & 12u);
    uint2 low = *(device const uint2*)from, high = *(device const uint2*)(from + 16);
    made.word[0] = low.x;
    made.word[1] = low.y;
    made.word[2] = high.x;
    made.word[3] = high.y;
  } else {
    made = Packet<16>::read(row + column);
  }
  return made;
}
