// select_assign of a list that is not long, along the first axis: y[index[i]] = value[i]. Text of
// the kernel dialect.
//
// A threadgroup along x has a row of the values, those along y parts of it, in vectors of V. Of
// equal indices the last one counts, so a row looks through the indices behind its own, 32 at a
// time, and is left out where one equals it: nothing is sorted, and no two rows are written to the
// same place. An index outside the axis is not written. Bound by memory.

#include "kernels/blocks/strided.h"
#include "kernels/indexing/params.h"

template <typename V, typename X, int kRank>
void assign_rows(device const X* indices, device const V* values, device V* output,
                 constant AssignRowParams<kRank>& p, Ctx ctx) {
  uint row = ctx.tg.x, rows = uint(p.rows);
  long index = long(indices[p.index_base + long(row) * p.index_stride]);
  uint later = ulong(index) < ulong(p.extent) ? 0u : 1u;
  for (uint i = row + 1u + ctx.lane; i < rows; i += 32u) {
    later |= long(indices[p.index_base + long(i) * p.index_stride]) == index ? 1u : 0u;
  }
  if (metal::simd_max(later) != 0u) return;
  device const V* from = values + long(row) * p.value_row;
  device V* to = output + index * p.output_row;
  for (uint at = ctx.tg.y * ctx.ntid.x + ctx.tid.x; at < uint(p.vectors);
       at += ctx.ntg.y * ctx.ntid.x) {
    to[offset_of<uint, kRank>(at, p.output)] = from[offset_of<uint, kRank>(at, p.values)];
  }
}
