// Regions that end in a reduction whose innermost axis is reduced. Text of the kernel dialect; see
// map.metal for what the generated part defines, and beside it
//   Accumulator, region_identity(), region_combine(a, b)
//   region_lift(value, e)          the accumulator of one value, element e of its row
//   Kept, region_keep(a), region_kept(k)    an accumulator as memory holds it
//   Target                         the dtype that is stored: the result's, or the accumulator's
//   Offsets kept_at(row, p)        where a row begins
//   Offsets reduced_at(v, at, p)   where its vector v lies
//   region_result(row, p)          where its result lies
//   region_tail(o, at, e)          the value to reduce of element e of a row
//
// A row is what one result is made of. p.lanes threads, a power of two, share a row: several rows
// to a simdgroup, one to a simdgroup, or one to a threadgroup. Long rows are cut into ntg.y chunks
// of p.chunk vectors; their partial results are combined by another launch. The elements of a
// vector are combined in pairs, vectors into kUnroll accumulators, lanes in pairs: a float sum has
// the error of short chains. The order depends on extents and alignment only, so results are the
// same in every run. Each element is read once; bound by memory.

#include "kernels/reduce/pairs.metal"

template <int kWidth, int kUnroll>
inline void region_rows(thread const Operands& o, constant RegionParams& p,
                        device Target::memory* result, threadgroup Kept* shared, Ctx ctx) {
  uint lane = ctx.tid.x & (p.lanes - 1u);
  position row = position(ctx.tg.x) * (ctx.ntid.x >> p.lane_bits) + (ctx.tid.x >> p.lane_bits);
  Accumulator sums[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) sums[u] = region_identity();
  if (row < p.rows) {
    Offsets base = kept_at(row, p);
    position end = position(ctx.tg.y + 1u) * p.chunk;
    end = end < p.vectors ? end : p.vectors;
    position step = position(p.lanes) * position(kUnroll);
    for (position first = position(ctx.tg.y) * p.chunk + lane; first < end; first += step) {
      Inputs in[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        position v = first + position(u) * p.lanes;
        if (v < end) region_load(in[u], o, reduced_at(v, base, p));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        position v = first + position(u) * p.lanes;
        if (v < end) {
          Outputs out;
          Accumulator part[kWidth];
#pragma unroll
          for (int i = 0; i < kWidth; ++i) {
            Values values = region_values(in[u], i, o);
            region_put(out, i, values);
            part[i] = region_lift(values.reduced, v * position(kWidth) + position(i));
          }
          region_store(out, o, reduced_at(v, base, p));
          sums[u] = region_combine(sums[u], RegionPairs<kWidth, 1>::combined(part));
        }
      }
    }
#if HEARTH_REGION_TAIL
    if (ctx.tg.y + 1u == ctx.ntg.y) {
      for (uint e = lane; e < p.tail; e += p.lanes) {
        sums[0] = region_combine(sums[0], region_tail(o, base, p.vectors * position(kWidth) + e));
      }
    }
#endif
  }
#pragma unroll
  for (int half_count = kUnroll / 2; half_count > 0; half_count /= 2) {
#pragma unroll
    for (int u = 0; u < half_count; ++u) {
      sums[u] = region_combine(sums[u], sums[u + half_count]);
    }
  }
  Accumulator sum = sums[0];
  uint together = p.lanes < 32u ? p.lanes : 32u;
  for (uint distance = together / 2u; distance > 0u; distance /= 2u) {
    sum = region_combine(sum, shuffle_xor(sum, ushort(distance)));
  }
  if (p.lanes > 32u) {
    if (ctx.lane == 0u) shared[ctx.sg] = region_keep(sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (ctx.sg == 0u) {
      sum = ctx.lane < ctx.nsg ? region_kept(shared[ctx.lane]) : region_identity();
      for (uint distance = 16u; distance > 0u; distance /= 2u) {
        sum = region_combine(sum, shuffle_xor(sum, ushort(distance)));
      }
    }
  }
  if (lane == 0u && row < p.rows) {
    result[region_result(row, p) + offset_t(ctx.tg.y) * p.split_step] = Target::store(sum);
  }
}
