// x in codes of 8 bits, for products with packed weights. Text of the kernel dialect.
//
// A unit of 32 elements has a scale, the largest magnitude over 127, and its codes are what
// rounding to multiples of the scale gives. Beside the scale lie the sums of its first and its last
// 16 codes, which products need where a weight's codes do not begin at 0. Where an element is no
// finite number the scale is NaN, and so is all that is made of it.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/packed/params.h"

// Below it the reciprocal of a scale may be infinite: such elements are taken for 0.
constexpr constant float kLeastMagnitude = 1e-30f;

HEARTH_INLINE float larger_magnitude(float a, float b) {
  float size = metal::fabs(b);
  return size > a || size != size ? size : a;
}

// A half of a vector of codes.
template <typename Vectors>
HEARTH_INLINE void put_half(Vectors codes, uint vector, uint place, uint first, uint second) {
  if (place == 0u) {
    codes[vector].x = first;
    codes[vector].y = second;
  } else {
    codes[vector].z = first;
    codes[vector].w = second;
  }
}

// Of a row of `units` units: the first 16 codes of each, then the last 16 of each, so that lanes
// read what lies side by side; and a scale and the two sums of each. A thread makes 8 codes; all
// lanes of a simdgroup call it together.
template <typename D, typename Codes, typename Scales>
HEARTH_INLINE void code_row(device const typename D::memory* x, uint units, Codes codes,
                            Scales scales, uint index, uint threads) {
  uint count = units * 4u;  // pieces of 8
  for (uint first = index & ~31u; first < count; first += threads) {
    uint piece = first + (index & 31u);
    bool inside = piece < count;
    float value[8];
    float largest = 0.0f;
#pragma unroll
    for (uint i = 0u; i < 8u; ++i) {
      value[i] = inside ? float(D::load(x[piece * 8u + i])) : 0.0f;
      largest = larger_magnitude(largest, value[i]);
    }
    largest = larger_magnitude(largest, metal::simd_shuffle_xor(largest, ushort(1)));
    largest = larger_magnitude(largest, metal::simd_shuffle_xor(largest, ushort(2)));
    bool finite = largest < INFINITY;
    float inverse = finite && largest > kLeastMagnitude ? 127.0f / largest : 0.0f;
    int sum = 0;
    uint word[2];
#pragma unroll
    for (uint i = 0u; i < 2u; ++i) {
      word[i] = 0u;
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) {
        float scaled = finite ? value[4u * i + j] * inverse : 0.0f;
        int code = int(metal::rint(scaled));
        sum += code;
        word[i] |= (uint(code) & 255u) << (8u * j);
      }
    }
    sum += metal::simd_shuffle_xor(sum, ushort(1));
    int behind = metal::simd_shuffle_xor(sum, ushort(2));
    if (!inside) continue;
    put_half(codes, ((piece >> 1) & 1u) * units + (piece >> 2), piece & 1u, word[0], word[1]);
    if ((piece & 3u) != 0u) continue;
    float scale = finite ? (inverse > 0.0f ? largest / 127.0f : 0.0f) : NAN;
    scales[piece >> 2] = uint2(as_type<uint>(scale), (uint(sum) & 65535u) | (uint(behind) << 16));
  }
}

// A threadgroup a row.
template <typename D, int kRank>
void code_rows(device const typename D::memory* x, device uint4* codes, device uint2* scales,
               constant CodeRowsParams<kRank>& p, Ctx ctx) {
  long row = long(ctx.tg.x);
  uint units = uint(p.units);
  code_row<D>(x + offset_of<ulong, kRank>(ulong(row), p.x), units, codes + row * p.units * 2,
              scales + row * p.units, ctx.tid.x, ctx.ntid.x);
}
