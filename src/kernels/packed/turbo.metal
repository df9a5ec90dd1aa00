// turbo_quantize: rows of floats as codes of TurboQuant; turbo_dequantize: what they stand for.
// Text of the kernel dialect.
//
// A simdgroup makes a row, 32 elements at a time: once for the largest of them and once for their
// squares, from the cache, then codes, whose least squares it adds up meanwhile. A lane writes a
// byte of codes of several lanes. Back, a thread makes eight elements. Bound by memory.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/formulas/packed/turbo.h"
#include "kernels/packed/lanes.metal"
#include "kernels/packed/params.h"

using namespace packed_formats;

// A codebook, plus 128, and what 1 of it is of a normal variable.
template <int kBits>
struct Codebook;
template <>
struct Codebook<2> {
  static HEARTH_INLINE float unit() { return 1.5104176f / 127.0f; }
  static HEARTH_INLINE float value(uint code) { return float(kTurboCodes2[code]) - 128.0f; }
};
template <>
struct Codebook<3> {
  static HEARTH_INLINE float unit() { return 2.1519457f / 114.0f; }
  static HEARTH_INLINE float value(uint code) { return float(kTurboCodes3[code]) - 128.0f; }
};
template <>
struct Codebook<4> {
  static HEARTH_INLINE float unit() { return 2.7325896f / 104.0f; }
  static HEARTH_INLINE float value(uint code) { return float(kTurboCodes4[code]) - 128.0f; }
};

// The codes of a block, one a lane.
template <int kBits>
HEARTH_INLINE void put_turbo_codes(device uchar* to, uint code, uint lane) {
  if (kBits == 4) {
    uint above = shuffle_xor(code, ushort(16));
    if (lane < 16u) to[lane] = uchar(code | (above << 4));
    return;
  }
  uint low = (code & 3u) << (2u * (lane >> 3));
  low |= shuffle_xor(low, ushort(8));
  low |= shuffle_xor(low, ushort(16));
  if (lane < 8u) to[lane] = uchar(low);
  if (kBits == 3) {
    uint third = (code >> 2) << (lane & 7u);
    third |= shuffle_xor(third, ushort(1));
    third |= shuffle_xor(third, ushort(2));
    third |= shuffle_xor(third, ushort(4));
    if ((lane & 7u) == 0u) to[8u + (lane >> 3)] = uchar(third);
  }
}

template <typename D, int kBits, int kRank>
void turbo_quantize(device const typename D::memory* x, device uchar* y,
                    constant TurboParams<kRank>& p, Ctx ctx) {
  typedef Codebook<kBits> Book;
  const uint kCodes = 1u << kBits;
  ulong row = (ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x) / 32;
  if (row >= ulong(p.rows)) return;
  device const typename D::memory* from =
      x + offset_of<ulong, kRank>(row, p.x) + long(ctx.lane) * p.step;
  device uchar* to = y + row * ulong(p.bytes);
  int length = int(p.length);

  float most = 0.0f, broken = 0.0f;
  for (int i = 0; i < length; i += 32) {
    float value = D::load(from[long(i) * p.step]);
    most = metal::max(most, metal::abs(value));
    if (!metal::isfinite(value)) broken = 1.0f;
  }
  most = lanes_max(most);
  broken = lanes_max(broken);
  float shrink = 1.0f / most;
  if (!metal::isfinite(shrink) || broken != 0.0f) shrink = 0.0f;
  float squares = 0.0f;
  for (int i = 0; i < length; i += 32) {
    float value = D::load(from[long(i) * p.step]) * shrink;
    squares = metal::fma(value, value, squares);
  }
  squares = lanes_sum(squares);
  float factor =
      squares > 0.0f ? metal::sqrt(float(length) / squares) / Book::unit() * shrink : 0.0f;
  float products = 0.0f, norm = 0.0f;
  for (int i = 0; i < length; i += 32) {
    float value = D::load(from[long(i) * p.step]);
    uint code = 0u;
#pragma unroll
    for (uint k = 0u; k + 1u < kCodes; ++k) {
      code += value * factor > 0.5f * (Book::value(k) + Book::value(k + 1u)) ? 1u : 0u;
    }
    float named = Book::value(code);
    products = metal::fma(value * shrink, named, products);
    norm = metal::fma(named, named, norm);
    put_turbo_codes<kBits>(to + 4 + i / 8 * kBits, code, ctx.lane);
  }
  products = lanes_sum(products);
  norm = lanes_sum(norm);
  float scale = squares > 0.0f ? most * (products / norm) : 0.0f;
  uint bits = broken != 0.0f ? 0x7fc00000u : as_type<uint>(scale);
  if (ctx.lane < 4u) to[ctx.lane] = uchar((bits >> (8u * ctx.lane)) & 255u);
}

template <typename R, typename D, int kRank>
void turbo_dequantize(device const uchar* codes, device typename D::memory* y,
                      constant TurboParams<kRank>& p, Ctx ctx) {
  ulong piece = ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x;
  ulong row_pieces = ulong(p.length) / kDequantizedAtOnce;
  if (piece >= ulong(p.rows) * row_pieces) return;
  ulong row = piece / row_pieces;
  uint first = uint(piece - row * row_pieces) * kDequantizedAtOnce;
  float values[kDequantizedAtOnce];
  row_elements<R, kDequantizedAtOnce>(codes + offset_of<ulong, kRank>(row, p.x), first, values);
  device typename D::memory* to = y + piece * kDequantizedAtOnce;
#pragma unroll
  for (int i = 0; i < int(kDequantizedAtOnce); ++i) {
    to[i] = D::store(typename D::value(values[i]));
  }
}
