// How often each number of [0, length) is among integers. Text of the kernel dialect.
//
// Few counters fit into threadgroup memory: each threadgroup counts a share of the elements there,
// and counts of all shares are added. More of them are counted in memory. Counters are integers, so
// the order of additions does not matter. Bound by memory, and by additions that meet.

#include "kernels/counting/params.h"

// counts[part][number]
template <typename X>
void count_in_threadgroups(device const X* x, device uint* counts, constant CountParams& p,
                           threadgroup atomic_uint* counters, Ctx ctx) {
  for (uint i = ctx.tid.x; i < uint(p.length); i += ctx.ntid.x) {
    atomic_store_explicit(&counters[i], 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  ulong step = ulong(p.parts) * ctx.ntid.x;
#pragma unroll 4
  for (ulong i = ctx.gid.x; i < ulong(p.count); i += step) {
    ulong number = ulong(long(x[i]));
    if (number < ulong(p.length)) {
      atomic_fetch_add_explicit(&counters[uint(number)], 1u, memory_order_relaxed);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device uint* mine = counts + ulong(ctx.tg.x) * ulong(p.length);
  for (uint i = ctx.tid.x; i < uint(p.length); i += ctx.ntid.x) {
    mine[i] = atomic_load_explicit(&counters[i], memory_order_relaxed);
  }
}

// A simdgroup adds some of the parts of 32 numbers.
inline void add_counts(device const uint* counts, device long* out, constant CountParams& p,
                       threadgroup uint* sums, Ctx ctx) {
  ulong number = ulong(ctx.tg.x) * 32u + ctx.lane;
  uint sum = 0u;
  if (number < ulong(p.length)) {
#pragma unroll 4
    for (ulong part = ctx.sg; part < ulong(p.parts); part += ctx.nsg) {
      sum += counts[part * ulong(p.length) + number];
    }
  }
  sums[ctx.tid.x] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (ctx.sg > 0u || number >= ulong(p.length)) return;
  for (uint i = 1u; i < ctx.nsg; ++i) sum += sums[i * 32u + ctx.lane];
  out[number] = long(ulong(sum));
}

inline void clear_counts(device uint* counts, constant CountParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i < ulong(p.length)) counts[i] = 0u;
}
template <typename X>
void count_in_memory(device const X* x, device atomic_uint* counts, constant CountParams& p,
                     Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count)) return;
  ulong number = ulong(long(x[i]));
  if (number < ulong(p.length)) {
    atomic_fetch_add_explicit(&counts[number], 1u, memory_order_relaxed);
  }
}
inline void store_counts(device const uint* counts, device long* out, constant CountParams& p,
                         Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i < ulong(p.length)) out[i] = long(ulong(counts[i]));
}
