// Regions that end in a reduction over short rows: a row has at most as many vectors as a simdgroup
// has lanes, and the elements of a last vector that is not whole. Text of the kernel dialect; see
// rows.metal for what the generated part defines.
//
// p.lanes threads, a power of two up to 32, share a row, each with one of its vectors; a simdgroup
// has several rows side by side. A thread takes kUnroll rows, a threadgroup's rows apart, and loads
// all of them before it computes. Each element is read once; bound by memory.

#include "kernels/reduce/pairs.metal"

template <int kWidth, int kUnroll>
inline void region_short_rows(thread const Operands& o, constant RegionParams& p,
                              device Target::memory* result, Ctx ctx) {
  uint lane = ctx.tid.x & (p.lanes - 1u);
  uint high = ctx.ntid.x >> p.lane_bits;
  position first = position(ctx.tg.x) * (high * uint(kUnroll)) + (ctx.tid.x >> p.lane_bits);
  Inputs in[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    position row = first + position(u) * high;
    if (row < p.rows && lane < p.vectors) {
      region_load(in[u], o, reduced_at(lane, kept_at(row, p), p));
    }
  }
  Accumulator sums[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    position row = first + position(u) * high;
    sums[u] = region_identity();
    if (row < p.rows && lane < p.vectors) {
      Outputs out;
      Accumulator part[kWidth];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        Values values = region_values(in[u], i, o);
        region_put(out, i, values);
        part[i] = region_lift(values.reduced, position(lane) * position(kWidth) + position(i));
      }
      region_store(out, o, reduced_at(lane, kept_at(row, p), p));
      sums[u] = RegionPairs<kWidth, 1>::combined(part);
    }
#if HEARTH_REGION_TAIL
    if (row < p.rows) {
      for (uint e = lane; e < p.tail; e += p.lanes) {
        sums[u] = region_combine(sums[u],
                                 region_tail(o, kept_at(row, p), p.vectors * position(kWidth) + e));
      }
    }
#endif
  }
  for (uint distance = p.lanes / 2u; distance > 0u; distance /= 2u) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      sums[u] = region_combine(sums[u], shuffle_xor(sums[u], ushort(distance)));
    }
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    position row = first + position(u) * high;
    if (lane == 0u && row < p.rows) result[region_result(row, p)] = Target::store(sums[u]);
  }
}
