// argmax and argmin along one axis: the lowest index of the extreme; a NaN wins, the first one
// first. Text of the kernel dialect.
//
// A threadgroup takes a line. Threads keep the best of every ntid-th element, simdgroups combine by
// shuffles, the first one combines the simdgroups. Bound by memory where lines are contiguous.

#include "kernels/strided.h"

template <int kRank>
struct ArgParams {
  long length;
  long step;          // along the axis
  Axes<kRank> lines;  // with an extent of 1 on the axis
};

// True where (b, at_b) comes before (a, at_a). Sign turns argmin into argmax for all but NaN.
template <typename C, bool kSmallest>
inline bool wins(C b, long at_b, C a, long at_a) {
  bool nan_a = a != a, nan_b = b != b;
  if (nan_a || nan_b) return nan_b && (!nan_a || at_b < at_a);
  bool better = kSmallest ? b < a : b > a;
  return better || (b == a && at_b < at_a);
}

// A position of -1 says that a lane has no element.
template <typename C, bool kSmallest>
inline void take(thread C& best, thread long& at, C value, long position) {
  if (position < 0) return;
  if (at < 0 || wins<C, kSmallest>(value, position, best, at)) {
    best = value;
    at = position;
  }
}

template <typename T, typename C, typename O, bool kSmallest, int kRank>
void arg_reduce(device const T* x, device O* y, constant ArgParams<kRank>& p, threadgroup C* values,
                threadgroup long* positions, Ctx ctx) {
  long line = long(ctx.tg.x) + long(ctx.tg.y) * long(ctx.ntg.x);
  device const T* row = x + offset_of<ulong, kRank>(ulong(line), p.lines);
  C best = C(0);
  long at = -1;
  for (long i = ctx.tid.x; i < p.length; i += ctx.ntid.x) {
    take<C, kSmallest>(best, at, C(row[i * p.step]), i);
  }
  for (ushort lane = 16; lane > 0; lane /= 2) {
    C other = simd_shuffle_xor(best, lane);
    long position = simd_shuffle_xor(at, lane);
    take<C, kSmallest>(best, at, other, position);
  }
  if (ctx.lane == 0) {
    values[ctx.sg] = best;
    positions[ctx.sg] = at;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (ctx.tid.x != 0) return;
  for (uint i = 1; i < ctx.nsg; ++i) take<C, kSmallest>(best, at, values[i], positions[i]);
  y[line] = O(at);
}
