// Regions that end in a reduction whose innermost axis is kept. Text of the kernel dialect; see
// rows.metal for what the generated part defines. Vectors lie along the kept axis.
//
// A threadgroup is p.wide threads across, a power of two, each with a vector of columns; the
// threads below one another share the rows of a chunk, and combine through threadgroup memory. Rows
// are cut into ntg.y chunks of p.chunk; their partial results are combined by another launch. A
// thread has kUnroll rows in flight, each with accumulators of its own. Each element is read once;
// bound by memory.

template <int kWidth, int kUnroll>
inline void region_columns(thread const Operands& o, constant RegionParams& p,
                           device Target::memory* result, threadgroup Kept* shared, Ctx ctx) {
  uint down = ctx.tid.x >> p.wide_bits;
  uint high = ctx.ntid.x >> p.wide_bits;
  position column = position(ctx.tg.x) * p.wide + (ctx.tid.x & (p.wide - 1u));
  Accumulator sums[kUnroll][kWidth];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[u][i] = region_identity();
  }
  if (column < p.columns) {
    Offsets base = kept_at(column, p);
    position end = position(ctx.tg.y + 1u) * p.chunk;
    end = end < p.rows ? end : p.rows;
    position step = position(high) * position(kUnroll);
    for (position first = position(ctx.tg.y) * p.chunk + down; first < end; first += step) {
      Inputs in[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        position row = first + position(u) * high;
        if (row < end) region_load(in[u], o, reduced_at(row, base, p));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        position row = first + position(u) * high;
        if (row < end) {
          Outputs out;
#pragma unroll
          for (int i = 0; i < kWidth; ++i) {
            Values values = region_values(in[u], i, o);
            region_put(out, i, values);
            sums[u][i] = region_combine(sums[u][i], region_lift(values.reduced, row));
          }
          region_store(out, o, reduced_at(row, base, p));
        }
      }
    }
  }
#pragma unroll
  for (int half_count = kUnroll / 2; half_count > 0; half_count /= 2) {
#pragma unroll
    for (int u = 0; u < half_count; ++u) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        sums[u][i] = region_combine(sums[u][i], sums[u + half_count][i]);
      }
    }
  }
  // Elements of a vector lie a threadgroup apart, so that neighbours use different banks.
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    shared[uint(i) * ctx.ntid.x + ctx.tid.x] = region_keep(sums[0][i]);
  for (uint left = high / 2u; left > 0u; left /= 2u) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (down < left) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        uint at = uint(i) * ctx.ntid.x + ctx.tid.x;
        shared[at] = region_keep(
            region_combine(region_kept(shared[at]), region_kept(shared[at + left * p.wide])));
      }
    }
  }
  if (down == 0u && column < p.columns) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      offset_t at = region_result(column, p) + offset_t(i) * p.result_inner;
      result[at + offset_t(ctx.tg.y) * p.split_step] =
          Target::store(region_kept(shared[uint(i) * ctx.ntid.x + ctx.tid.x]));
    }
  }
}
