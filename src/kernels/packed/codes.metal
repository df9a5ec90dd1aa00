// x in codes of 8 bits, for products with packed weights. Text of the kernel dialect.
//
// A unit of 32 elements has a scale, the largest magnitude over 127, and its codes are what
// rounding to multiples of the scale gives. Beside the scale lie the sums of its first and its last
// 16 codes, which products need where a weight's codes do not begin at 0. Where an element is no
// finite number the scale is NaN, and so is all that is made of it.

#include "kernels/blocks/bytes.h"
#include "kernels/blocks/dot4.h"
#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/formulas/packed/block.h"
#include "kernels/packed/params.h"

// Below it the reciprocal of a scale may be infinite: such elements are taken for 0.
constexpr constant float kLeastMagnitude = 1e-30f;

// Added to a magnitude below 2^22 it leaves the nearest integer in the lowest bits.
constexpr constant float kRoundToInteger = 12582912.0f;  // 1.5 * 2^23

// The units of a row that have places.
HEARTH_INLINE uint unit_places(uint units) { return (units + 3u) & ~3u; }

// Where the codes and the scale of a unit are. A lane takes kTogether units, each kApart behind the
// one before: the first ones of all lanes lie side by side, behind them the second ones, and so on.
template <uint kTogether, uint kApart>
HEARTH_INLINE uint unit_place(uint unit, uint units) {
  uint lane = unit / (kTogether * kApart) * kApart + unit % kApart;
  return lane + unit / kApart % kTogether * (unit_places(units) / kTogether);
}
// The first unit of a lane.
template <uint kTogether, uint kApart>
HEARTH_INLINE uint first_unit(uint lane) {
  return lane / kApart * (kTogether * kApart) + lane % kApart;
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

// Eight elements of a unit as two words of codes; the scale of the unit and the sums of its codes.
struct CodedPiece {
  uint word[2];
  float scale;
  uint sums;  // of the first 16 and, above, of the last 16
};

// Puts codes in an order of formulas/packed/block.h. The lanes of a simdgroup call it together.
template <int kOrder>
HEARTH_INLINE void arrange_codes(thread CodedPiece& coded, uint piece) {
  using namespace packed_formats;
  uint first = coded.word[0], last = coded.word[1];
  if (kOrder == split_order) {
    coded.word[0] = pick_bytes(first, last, 0x6273u);
    coded.word[1] = pick_bytes(first, last, 0x4051u);
  } else if (kOrder == reversed_order) {
    coded.word[0] = pick_bytes(first, first, 0x0123u);
    coded.word[1] = pick_bytes(last, last, 0x0123u);
  } else if (kOrder == unit_pairs_order) {
    uint far_first = metal::simd_shuffle_xor(first, ushort(2));
    uint far_last = metal::simd_shuffle_xor(last, ushort(2));
    bool behind = (piece & 2u) != 0u;
    coded.word[0] =
        behind ? pick_bytes(far_first, first, 0x7362u) : pick_bytes(first, far_first, 0x5140u);
    coded.word[1] =
        behind ? pick_bytes(far_last, last, 0x7362u) : pick_bytes(last, far_last, 0x5140u);
  } else if (kOrder == group_pairs_order) {
    uint far_first = metal::simd_shuffle_xor(first, ushort(1));
    uint far_last = metal::simd_shuffle_xor(last, ushort(1));
    bool behind = (piece & 1u) != 0u;
    uint low = behind ? far_last : first, high = behind ? last : far_first;
    coded.word[0] = pick_bytes(low, high, 0x5140u);
    coded.word[1] = pick_bytes(low, high, 0x7362u);
  }
}

// Piece `piece` of a row; where it is not inside, nothing is read. The lanes of a unit, whose
// pieces follow each other, call it together.
template <typename D, bool kVectors>
HEARTH_INLINE CodedPiece code_piece(device const typename D::memory* x, uint piece, bool inside) {
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
  CodedPiece coded;
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    coded.word[i] = 0u;
#pragma unroll
    for (uint j = 0u; j < 4u; ++j) {
      float rounded = metal::fma(value[4u * i + j], inverse, kRoundToInteger);
      coded.word[i] |= (as_type<uint>(rounded) & 255u) << (8u * j);
    }
  }
  int sum = dot4(0x01010101u, coded.word[0], dot4(0x01010101u, coded.word[1], 0));
  sum += metal::simd_shuffle_xor(sum, ushort(1));
  int behind = metal::simd_shuffle_xor(sum, ushort(2));
  coded.scale = finite ? (inverse > 0.0f ? largest / 127.0f : 0.0f) : NAN;
  coded.sums = (uint(sum) & 65535u) | (uint(behind) << 16);
  return coded;
}

// Of a row of `units` units: the first 16 codes of each, then the last 16 of each, by unit_place();
// and a scale and the two sums of each. A thread makes 8 codes; all lanes of a simdgroup call it
// together. kVectors: x is at a multiple of 16 bytes.
template <typename D, bool kVectors, uint kTogether, uint kApart, int kOrder, typename Codes,
          typename Scales>
HEARTH_INLINE void code_row(device const typename D::memory* x, uint units, Codes codes,
                            Scales scales, uint index, uint threads) {
  uint count = units * 4u;  // pieces of 8
  for (uint first = index & ~31u; first < count; first += threads) {
    uint piece = first + (index & 31u);
    bool inside = piece < count;
    CodedPiece coded = code_piece<D, kVectors>(x, piece, inside);
    arrange_codes<kOrder>(coded, piece);
    if (!inside) continue;
    uint place = unit_place<kTogether, kApart>(piece >> 2, units);
    put_half(codes, ((piece >> 1) & 1u) * unit_places(units) + place, piece & 1u, coded.word[0],
             coded.word[1]);
    if ((piece & 3u) == 0u) scales[place] = uint2(as_type<uint>(coded.scale), coded.sums);
  }
}

// A threadgroup a row.
template <typename D, uint kTogether, uint kApart, int kOrder, int kRank>
void code_rows(device const typename D::memory* x, device uint4* codes, device uint2* scales,
               constant CodeRowsParams<kRank>& p, Ctx ctx) {
  long row = long(ctx.tg.x);
  uint units = uint(p.units);
  long places = row * long(unit_places(units));
  code_row<D, false, kTogether, kApart, kOrder>(x + offset_of<ulong, kRank>(ulong(row), p.x), units,
                                                codes + places * 2, scales + places, ctx.tid.x,
                                                ctx.ntid.x);
}

// The same for products of tiles, which have a column for each row of x: a threadgroup a column,
// the last ones like the last row. For each two units and each column lie four vectors, of which
// vector t has words t and 4 + t of the first unit, then those of the second; scales of columns lie
// side by side. Threadgroups along y have the next rows, whose codes lie behind those before.
template <typename D, int kOrder, int kRank>
void code_columns(device const typename D::memory* x, device uint* codes, device uint2* scales,
                  constant CodeRowsParams<kRank>& p, Ctx ctx) {
  uint column = ctx.tg.x, columns = ctx.ntg.x, count = uint(p.units) * 4u;
  long layer = long(ctx.tg.y);
  ulong row = ulong(metal::min(layer * long(columns) + long(column), p.rows - 1));
  codes += layer * ((p.units + 1) / 2) * long(columns) * 16;
  scales += layer * p.units * long(columns);
  device const typename D::memory* from = x + offset_of<ulong, kRank>(row, p.x);
  for (uint first = ctx.tid.x & ~31u; first < count; first += ctx.ntid.x) {
    uint piece = first + (ctx.tid.x & 31u);
    bool inside = piece < count;
    CodedPiece coded = code_piece<D, false>(from, piece, inside);
    arrange_codes<kOrder>(coded, piece);
    if (!inside) continue;
    uint unit = piece >> 2;
    long vector = long((unit >> 1) * columns + column) * 4 + long(2u * (piece & 1u));
    long word = vector * 4 + long(2u * (unit & 1u) + ((piece >> 1) & 1u));
    codes[word] = coded.word[0];
    codes[word + 4] = coded.word[1];
    if ((piece & 3u) != 0u) continue;
    scales[long(unit) * columns + column] = uint2(as_type<uint>(coded.scale), coded.sums);
  }
}
