// Rotary position embedding. Text of the kernel dialect.
//
//   y0 = x0 cos - x1 sin,   y1 = x1 cos + x0 sin,   by the angle (offset + s) base^(-i / pairs)
//
// The pair i of row s is (x[i], x[i + pairs]), or (x[2i], x[2i + 1]) when interleaved. A thread has
// the pairs of a packet of 16 bytes of one s, works out their sines once and turns them in every
// ntg.y-th of the outer rows. Bound by memory.
//
// Angles are exact where positions are large, and without f64: they are counted in turns, in units
// of 2^-64, and a product with an integer that wraps loses whole turns only. The turns of one
// position, base^(-i / pairs) / 2 pi, are products of the powers of two of base^(-1 / pairs), each
// rounded to 2^-64. The offset comes from the dynamic block.

#include "kernels/blocks/rows.h"
#include "kernels/formulas/formulas.h"
#include "kernels/rope/params.h"

// sin of a number of turns; a quarter more of them gives the cosine. Beyond a quarter of a turn the
// sine is that of the rest of half a turn.
template <typename V>
struct SineOfTurns;
template <>
struct SineOfTurns<float> {
  static HEARTH_INLINE float at(ulong turns) {
    uint word = uint(turns >> 32);
    if (((word + 0x40000000u) & 0x80000000u) != 0u) word = 0x80000000u - word;
    return formula::sin_reduced(float(int(word)) * 1.46291808e-9f);  // 2 pi / 2^32
  }
};
#if HEARTH_HAS_F64
template <>
struct SineOfTurns<double> {
  static HEARTH_INLINE double at(ulong turns) {
    ulong half_turn = ulong(1) << 63;
    if (((turns + (half_turn >> 1)) & half_turn) != 0) turns = half_turn - turns;
    return metal::sin(double(long(turns)) * 3.40612158008655459e-19);  // 2 pi / 2^64
  }
};
#endif

template <typename D, bool kInterleaved, int kRank>
void rope(device const typename D::memory* x, device typename D::memory* y,
          device const ulong* dynamics, constant RopeParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  uint packets = uint(p.packets);
  uint s = ctx.gid.x / packets;
  if (s >= uint(p.sequence)) return;
  int first = int(ctx.gid.x - s * packets) * kCount, pairs = int(p.pairs);

  ulong turn = ulong(p.turn);
  for (uint k = 0; k < 16u; ++k) {
    if (((uint(first) >> k) & 1u) != 0u) turn = metal::mulhi(turn, ulong(p.power[k]));
  }
  ulong position = dynamics[p.dynamic] + s;
  V cosines[kCount], sines[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    ulong turns = position * turn;
    cosines[i] = SineOfTurns<V>::at(turns + (ulong(1) << 62));
    V sine = SineOfTurns<V>::at(turns);
    sines[i] = p.inverse != 0 ? -sine : sine;
    turn = metal::mulhi(turn, ulong(p.power[0]));
  }

  for (uint outer = ctx.tg.y; outer < uint(p.outer); outer += ctx.ntg.y) {
    device const typename D::memory* from =
        x + (offset_of<uint, kRank>(outer, p.x) + long(s) * p.sequence_step);
    device typename D::memory* to = y + (long(outer) * p.sequence + long(s)) * (2 * p.pairs);
    Packet<16> in[2], out[2];
    if (kInterleaved) {
      load_row<D, 2>(in, from, 2 * first, kCount, 2 * pairs, InPacket<D>::shift(from) == 0, V(0));
    } else {
      load_row<D, 1>(in, from, first, 0, pairs, InPacket<D>::shift(from) == 0, V(0));
      load_row<D, 1>(in + 1, from + pairs, first, 0, pairs, InPacket<D>::shift(from + pairs) == 0,
                     V(0));
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // Where the two of pair i are: packet and element.
      const int half_count = kCount / 2;
      int low = kInterleaved ? i / half_count : 0, high = kInterleaved ? low : 1;
      int at = kInterleaved ? 2 * (i % half_count) : i, other = kInterleaved ? at + 1 : i;
      V a = D::get(in[low].word, at), b = D::get(in[high].word, other);
      D::put(out[low].word, at, a * cosines[i] - b * sines[i]);
      D::put(out[high].word, other, b * cosines[i] + a * sines[i]);
    }
    if (kInterleaved) {
      bool packed = InPacket<D>::shift(to) == 0;
      store_packet<D>(out[0], to, 2 * first, 2 * pairs, packed);
      store_packet<D>(out[1], to, 2 * first + kCount, 2 * pairs, packed);
    } else {
      store_packet<D>(out[0], to, first, pairs, InPacket<D>::shift(to) == 0);
      store_packet<D>(out[1], to + pairs, first, pairs, InPacket<D>::shift(to + pairs) == 0);
    }
  }
}
