// scatter_add as it comes: an atomic addition for each element. Text of the kernel
// dialect. The order of additions differs between runs, and with it the
// last bits of float sums.
// An index outside its axis is not written. Bound by memory, and by additions that meet.

#include "kernels/blocks/strided.h"
#include "kernels/indexing/params.h"

template <typename A, typename T, typename X, typename I, int kRank>
void scatter_atomics(device const X* indices, device const T* values, device A* output,
                     constant AtomicParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= ulong(p.count)) return;
  ulong index = ulong(long(indices[offset_of<I, kRank>(i, p.indices)]));
  if (index >= ulong(p.extent)) return;
  long at = offset_of<I, kRank>(i, p.output) + long(index) * p.output_step;
  atomic_fetch_add_explicit(output + at, values[offset_of<I, kRank>(i, p.values)],
                            memory_order_relaxed);
}
