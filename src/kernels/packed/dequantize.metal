// dequantize_blocks: what the blocks of a packed dtype stand for. Text of the kernel dialect.
//
// A simdgroup makes the elements of a part of a line at a time: it copies the blocks into
// threadgroup memory, 16 bytes a lane, of which lanes make eight elements each, side by side. Bound
// by memory: by what is written, two to sixteen times what is read. Elements are the formats' own
// in f32, rounded to the dtype of the result. kWhole: memory that is read and written begins at
// multiples of 16.

#include "kernels/blocks/strided.h"
#include "kernels/packed/staged.metal"

// Eight elements at `to`.
template <typename D, bool kPackets>
HEARTH_INLINE void store_eight(thread const float* values, device typename D::memory* to) {
  if (!kPackets) {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[i] = D::store(typename D::value(values[i]));
    return;
  }
  const int kOfPacket = 16 / int(sizeof(typename D::memory));
#pragma unroll
  for (int first = 0; first < 8; first += kOfPacket) {
    Packet<16> packet;
#pragma unroll
    for (int i = 0; i < kOfPacket; ++i) {
      D::put(packet.word, i, typename D::value(values[first + i]));
    }
    packet.write(to + first);
  }
}

template <typename F, typename D, bool kWhole, int kAlignment, int kRank>
void dequantize_blocks(device const uchar* bytes, device typename D::memory* y,
                       constant DequantizeParams<kRank>& p, threadgroup uint4* staged, Ctx ctx) {
  typedef Staging<F, kWhole, kAlignment> Stage;
  const uint kPieces = kUnit / kDequantizedAtOnce;  // of a unit
  threadgroup uint4* own = staged + ctx.sg * uint(Stage::vectors);
  long step = long(ctx.ntg.x) * ctx.nsg;
  for (long part = long(ctx.tg.x) * ctx.nsg + ctx.sg; part < p.parts; part += step) {
    long line = part / p.line_parts;
    uint first = uint(part - line * p.line_parts) * uint(Stage::units);  // unit of the line
    uint left = uint(p.units) - first;
    Stage stage;
    stage.load(bytes,
               offset_of<ulong, kRank>(ulong(line), p.lines) +
                   long(first * uint(kUnit) / F::elements) * F::bytes,
               left, p.end, ctx.lane);
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    stage.store(own, ctx.lane);
    metal::simdgroup_barrier(mem_flags::mem_threadgroup);
    uint count = metal::min(left, uint(Stage::units)) * kPieces;
    device typename D::memory* to = y + (line * p.units + long(first)) * kUnit;
#pragma unroll 2
    for (uint piece = ctx.lane; piece < count; piece += 32u) {
      uint element = piece * uint(kDequantizedAtOnce), block = element / F::elements;
      float values[kDequantizedAtOnce];
      elements_of<F, kDequantizedAtOnce>(Stage::block(own, stage.lead, block),
                                         element - block * F::elements, values);
      store_eight<D, kWhole>(values, to + element);
    }
  }
}
