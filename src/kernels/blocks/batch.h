// Several launches of one kernel, its members, as one: which member a threadgroup belongs to, and
// its position there. Text of the kernel dialect, for the entry points of batched kernels.
//
// Members lie one after the other along x. A threadgroup finds its own by halving: 8 steps for 256
// members, the same for all threads, against the microsecond or more of a launch.

// Laid out as runtime/commands/batched_kernel.h says.
template <int kMembers>
struct BatchTable {
  uint count;
  uint first[kMembers];  // threadgroup of each member
  uint x[kMembers];      // threadgroups of each member
  uint y[kMembers];
  uint z[kMembers];
};

template <int kMembers>
inline uint batch_member(constant BatchTable<kMembers>& table, uint threadgroup_index) {
  uint low = 0u, high = table.count;
  while (high - low > 1u) {
    uint middle = (low + high) / 2u;
    if (table.first[middle] <= threadgroup_index) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

template <int kMembers>
inline Ctx batch_ctx(constant BatchTable<kMembers>& table, uint member, Ctx ctx) {
  uint i = ctx.tg.x - table.first[member];
  ctx.ntg = uint3(table.x[member], table.y[member], table.z[member]);
  ctx.tg = uint3(i, 0u, 0u);
  if (ctx.ntg.y * ctx.ntg.z != 1u) {
    uint row = i / ctx.ntg.x, layer = row / ctx.ntg.y;
    ctx.tg = uint3(i - row * ctx.ntg.x, row - layer * ctx.ntg.y, layer);
  }
  ctx.gid = ctx.tg * ctx.ntid + ctx.tid;
  return ctx;
}
