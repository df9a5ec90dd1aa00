// Combines the partial results that the chunks of a reduction left behind. Text of the kernel
// dialect, after a generated part that defines Accumulator, Kept, Target and the functions on
// them that rows.metal names.
//
// Results lie side by side, chunk after chunk. A threadgroup is p.wide threads across, a power of
// two, each with a result; those below one another take its chunks in turn, then combine in pairs.

struct CombineParams {
  uint results, splits;
  uint wide, wide_bits;
};

inline void region_combine_chunks(device const Kept* partial, device Target::memory* result,
                                  constant CombineParams& p, threadgroup Kept* shared, Ctx ctx) {
  uint down = ctx.tid.x >> p.wide_bits;
  uint high = ctx.ntid.x >> p.wide_bits;
  uint at = ctx.tg.x * p.wide + (ctx.tid.x & (p.wide - 1u));
  Accumulator sum = region_identity();
  if (at < p.results) {
#pragma unroll 8
    for (uint split = down; split < p.splits; split += high) {
      sum = region_combine(sum, region_kept(partial[split * p.results + at]));
    }
  }
  shared[ctx.tid.x] = region_keep(sum);
  for (uint left = high / 2u; left > 0u; left /= 2u) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (down < left) {
      shared[ctx.tid.x] = region_keep(region_combine(
          region_kept(shared[ctx.tid.x]), region_kept(shared[ctx.tid.x + left * p.wide])));
    }
  }
  if (down == 0u && at < p.results) result[at] = Target::store(region_kept(shared[ctx.tid.x]));
}
