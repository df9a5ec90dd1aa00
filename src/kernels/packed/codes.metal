// x in codes of 8 bits, for products with packed weights. Text of the kernel dialect.
//
// A unit of 32 elements has a scale, the largest magnitude over 127, and its codes are what
// rounding to multiples of the scale gives. Beside the scale lie the sums of its first and its last
// 16 codes, which products need where a weight's codes do not begin at 0. Where an element is no
// finite number the scale is NaN, and so is all that is made of it.

#include "kernels/blocks/dot4.h"
#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/packed/params.h"

// Below it the reciprocal of a scale may be infinite: such elements are taken for 0.
constexpr constant float kLeastMagnitude = 1e-30f;

// Added to a magnitude below 2^22 it leaves the nearest integer in the lowest bits.
constexpr constant float kRoundToInteger = 12582912.0f;  // 1.5 * 2^23

// Where the codes and the scale of a unit are: even ones, then odd ones, so that lanes that take
// two neighbours each read what lies side by side.
HEARTH_INLINE uint unit_place(uint unit, uint units) {
  return (unit >> 1) + (unit & 1u) * ((units + 1u) >> 1);
}

// 8 elements from x on, which are at a multiple of 16 bytes where kVectors.
template <typename D, bool kVectors>
HEARTH_INLINE void load_eight(device const typename D::memory* x, thread float* value) {
  if (kVectors) {
    uint word[2 * sizeof(typename D::memory)];
#pragma unroll
    for (uint i = 0u; i < sizeof(typename D::memory) / 2u; ++i) {
      Packet<16> packet = Packet<16>::read((device const uint4*)x + i);
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) word[4u * i + j] = packet.word[j];
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = float(D::get(word, i));
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) value[i] = float(D::load(x[i]));
  }
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

// Of a row of `units` units: the first 16 codes of each, then the last 16 of each, by unit_place();
// and a scale and the two sums of each. A thread makes 8 codes; all lanes of a simdgroup call it
// together. kVectors: x is at a multiple of 16 bytes.
template <typename D, bool kVectors, typename Codes, typename Scales>
HEARTH_INLINE void code_row(device const typename D::memory* x, uint units, Codes codes,
                            Scales scales, uint index, uint threads) {
  uint count = units * 4u;  // pieces of 8
  for (uint first = index & ~31u; first < count; first += threads) {
    uint piece = first + (index & 31u);
    bool inside = piece < count;
    float value[8];
#pragma unroll
    for (uint i = 0u; i < 8u; ++i) value[i] = 0.0f;
    if (inside) load_eight<D, kVectors>(x + piece * 8u, value);
    // Bits of magnitudes are in the order of these, and those of NaN are beyond all.
    uint bits = 0u;
#pragma unroll
    for (uint i = 0u; i < 8u; ++i) {
      bits = metal::max(bits, as_type<uint>(value[i]) & 0x7fffffffu);
    }
    bits = metal::max(bits, metal::simd_shuffle_xor(bits, ushort(1)));
    bits = metal::max(bits, metal::simd_shuffle_xor(bits, ushort(2)));
    float largest = as_type<float>(bits);
    bool finite = bits < 0x7f800000u;
    float inverse = finite && largest > kLeastMagnitude ? 127.0f / largest : 0.0f;
    uint word[2];
#pragma unroll
    for (uint i = 0u; i < 2u; ++i) {
      word[i] = 0u;
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) {
        float rounded = metal::fma(value[4u * i + j], inverse, kRoundToInteger);
        word[i] |= (as_type<uint>(rounded) & 255u) << (8u * j);
      }
    }
    int sum = dot4(word[0], 0x01010101u, dot4(word[1], 0x01010101u, 0));
    sum += metal::simd_shuffle_xor(sum, ushort(1));
    int behind = metal::simd_shuffle_xor(sum, ushort(2));
    if (!inside) continue;
    uint place = unit_place(piece >> 2, units);
    put_half(codes, ((piece >> 1) & 1u) * units + place, piece & 1u, word[0], word[1]);
    if ((piece & 3u) != 0u) continue;
    float scale = finite ? (inverse > 0.0f ? largest / 127.0f : 0.0f) : NAN;
    scales[place] = uint2(as_type<uint>(scale), (uint(sum) & 65535u) | (uint(behind) << 16));
  }
}

// A threadgroup a row.
template <typename D, int kRank>
void code_rows(device const typename D::memory* x, device uint4* codes, device uint2* scales,
               constant CodeRowsParams<kRank>& p, Ctx ctx) {
  long row = long(ctx.tg.x);
  uint units = uint(p.units);
  code_row<D, false>(x + offset_of<ulong, kRank>(ulong(row), p.x), units, codes + row * p.units * 2,
                     scales + row * p.units, ctx.tid.x, ctx.ntid.x);
}
