// Sums over the threads of a threadgroup. Text of the kernel dialect.

// The sum of the values of all threads before this one; `all` is that of all threads.
// `sums` has room for one of each simdgroup.
inline uint sum_before(uint value, thread uint& all, threadgroup uint* sums, Ctx ctx) {
  uint before = simd_prefix_inclusive_sum(value) - value;
  if (ctx.lane == 31u) sums[ctx.sg] = before + value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  all = 0;
  for (uint i = 0; i < ctx.nsg; ++i) {
    before += i < ctx.sg ? sums[i] : 0u;
    all += sums[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return before;
}
