// dequantize_blocks: what the blocks of a packed dtype stand for. Text of the kernel dialect.
//
// A thread makes eight elements of a block, whose step it reads once. Bound by memory: by what is
// written, two to sixteen times what is read. Elements are the formats' own in f32, rounded to the
// dtype of the result.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/formulas/packed/formats.h"
#include "kernels/packed/params.h"

using namespace packed_formats;

template <typename F, typename D, int kRank>
void dequantize_blocks(device const uchar* bytes, device typename D::memory* y,
                       constant DequantizeParams<kRank>& p, Ctx ctx) {
  ulong piece = ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x;
  if (piece >= ulong(p.pieces)) return;
  ulong line = piece / ulong(p.line_pieces);
  ulong first = (piece - line * ulong(p.line_pieces)) * kDequantizedAtOnce;
  ulong block = first / F::elements;
  device const uchar* from = bytes + offset_of<ulong, kRank>(line, p.lines) + block * F::bytes;
  float values[kDequantizedAtOnce];
  elements_of<F, kDequantizedAtOnce>(from, uint(first % F::elements), values);
  device typename D::memory* to = y + piece * kDequantizedAtOnce;
#pragma unroll
  for (int i = 0; i < int(kDequantizedAtOnce); ++i) {
    to[i] = D::store(typename D::value(values[i]));
  }
}
