// The product of two small matrices by a simdgroup, sum + a b with a of 16 x 16 and b of 16 x 8, in
// the layout of NVIDIA's tensor cores (PTX, mma.m16n8k16). Text of the kernel dialect.
//
// Lane 4 g + t holds pairs of neighbours along the inner axis, the lower in the lower half of a
// word: of row g of `a` the elements 2t, 2t + 1 (x) and 2t + 8, 2t + 9 (z), the same of row g + 8
// (y, w); of column g of `b` the elements 2t, 2t + 1 (x) and 2t + 8, 2t + 9 (y); of `sum` columns
// 2t and 2t + 1 of row g (x, y) and of row g + 8 (z, w). Since the inner axis is summed over, any
// order of it will do that is the same in both.
//
// The same with bytes, those of `a` unsigned and those of `b` signed, has an inner axis of 32 or of
// 16, of which words hold four neighbours: of row g of `a` elements 4t to 4t + 3 (x) and, of 32,
// those 16 behind (z), the same of row g + 8 (y, w); of column g of `b` likewise (x, y).
//
// transposed_tiles() takes what is `b` of two products out of threadgroup memory, where the inner
// axis is that of rows: vectors of 8 elements, lane 8 m + i giving the place of the one that is row
// i of the m-th of four 8 x 8 tiles. Words x and y, and z and w, are a `b` if tiles 0 and 1, and 2
// and 3, are the first and the last 8 rows of 16, and 8 columns of them.
//
// D is F16 or BF16; sums are f32, and those of bytes int. Where a target has no such instruction,
// shuffles do the same, slowly.

#include "kernels/blocks/dot4.h"
#include "kernels/blocks/elements.h"

#if HEARTH_HAS_TILE_PRODUCT
template <typename D>
inline float4 tile_product(uint4 a, uint2 b, float4 sum, uint) {
  return metal::tile_product(typename D::memory(0.0f), a, b, sum);
}
// Two floats as a word of D, `a` in its lower half.
template <typename D>
inline uint rounded_halves(float a, float b) {
  return metal::rounded_halves(typename D::memory(0.0f), a, b);
}
HEARTH_INLINE uint4 transposed_tiles(threadgroup const uint4* from, uint vector, uint) {
  return metal::transposed_tiles(from + vector);
}
HEARTH_INLINE int4 byte_tile_product(uint4 a, uint2 b, int4 sum, uint) {
  return metal::byte_tile_product(a, b, sum);
}
HEARTH_INLINE int4 byte_tile_product(uint2 a, uint b, int4 sum, uint) {
  return metal::byte_tile_product(a, b, sum);
}
#else
// sum + a b over two neighbours.
template <typename D>
inline float pair_product(uint a, uint b, float sum) {
  sum = metal::fma(D::get(&a, 0), D::get(&b, 0), sum);
  return metal::fma(D::get(&a, 1), D::get(&b, 1), sum);
}
template <typename D>
inline float4 tile_product(uint4 a, uint2 b, float4 sum, uint lane) {
  for (uint t = 0; t < 4; ++t) {
    uint4 left = simd_shuffle(a, ushort((lane & 28u) + t));
    uint2 even = simd_shuffle(b, ushort(8u * (lane & 3u) + t));
    uint2 odd = simd_shuffle(b, ushort(8u * (lane & 3u) + 4u + t));
    sum.x = pair_product<D>(left.z, even.y, pair_product<D>(left.x, even.x, sum.x));
    sum.y = pair_product<D>(left.z, odd.y, pair_product<D>(left.x, odd.x, sum.y));
    sum.z = pair_product<D>(left.w, even.y, pair_product<D>(left.y, even.x, sum.z));
    sum.w = pair_product<D>(left.w, odd.y, pair_product<D>(left.y, odd.x, sum.w));
  }
  return sum;
}
template <typename D>
inline uint rounded_halves(float a, float b) {
  uint word = 0u;
  D::put(&word, 0, a);
  D::put(&word, 1, b);
  return word;
}
HEARTH_INLINE uint4 transposed_tiles(threadgroup const uint4* from, uint vector, uint lane) {
  threadgroup const ushort* elements = (threadgroup const ushort*)from;
  uint word[4];
#pragma unroll
  for (uint m = 0u; m < 4u; ++m) {
    uint even = simd_shuffle(vector, ushort(8u * m + 2u * (lane & 3u)));
    uint odd = simd_shuffle(vector, ushort(8u * m + 2u * (lane & 3u) + 1u));
    word[m] = uint(elements[8u * even + lane / 4u]) | (uint(elements[8u * odd + lane / 4u]) << 16);
  }
  return uint4(word[0], word[1], word[2], word[3]);
}
HEARTH_INLINE int4 byte_tile_product(uint2 a, uint b, int4 sum, uint lane) {
  for (uint t = 0u; t < 4u; ++t) {
    uint2 left = simd_shuffle(a, ushort((lane & 28u) + t));
    uint even = simd_shuffle(b, ushort(8u * (lane & 3u) + t));
    uint odd = simd_shuffle(b, ushort(8u * (lane & 3u) + 4u + t));
    sum.x = dot4(left.x, even, sum.x);
    sum.y = dot4(left.x, odd, sum.y);
    sum.z = dot4(left.y, even, sum.z);
    sum.w = dot4(left.y, odd, sum.w);
  }
  return sum;
}
HEARTH_INLINE int4 byte_tile_product(uint4 a, uint2 b, int4 sum, uint lane) {
  return byte_tile_product(uint2(a.z, a.w), b.y, byte_tile_product(uint2(a.x, a.y), b.x, sum, lane),
                           lane);
}
#endif
