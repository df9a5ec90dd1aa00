// slice_assign, gather and select. Text of the kernel dialect.
//
// Bound by memory; an element a thread, or a few. Elements are moved as the unsigned integer of
// their size E. An index outside its axis reads as zero.

#include "kernels/blocks/divisor.h"
#include "kernels/blocks/strided.h"
#include "kernels/indexing/params.h"

constexpr constant int kAssignedAtOnce = 4;

// y[start + step * position] = x[position]. Starts come from the dynamic block; where the region
// would reach outside, it is moved inside. Elements may be vectors; a thread loads all of its
// before it stores.
template <typename E, typename I, int kStarts, int kRank>
void slice_assign(device const E* x, device E* y, device const ulong* dynamics,
                  constant AssignParams<kStarts, kRank>& p, Ctx ctx) {
  I first = I(ctx.tg.x) * I(ctx.ntid.x * uint(kAssignedAtOnce)) + I(ctx.tid.x);
  E value[kAssignedAtOnce];
  long to[kAssignedAtOnce];
#pragma unroll
  for (int u = 0; u < kAssignedAtOnce; ++u) {
    I i = first + I(uint(u) * ctx.ntid.x);
    if (ulong(i) < ulong(p.region.count)) {
      long from = p.region.x_base;
      to[u] = p.region.y_base;
#pragma unroll
      for (int axis = kRank - 1; axis >= 0; --axis) {
        constant AssignAxis& of = p.axis[axis];
        I next = axis > 0 ? divided(i, of.extent) : I(0);
        long at = long(i - next * I(of.extent.extent));
        from += at * of.x_stride;
        to[u] += at * of.y_stride;
        i = next;
      }
      value[u] = x[from];
    }
  }
  long begin = 0;
#pragma unroll
  for (int s = 0; s < kStarts; ++s) {
    constant AssignStart& of = p.start[s];
    long start = long(dynamics[of.word]);
    begin += metal::max(of.lowest, metal::min(start, of.highest)) * of.stride;
  }
#pragma unroll
  for (int u = 0; u < kAssignedAtOnce; ++u) {
    I i = first + I(uint(u) * ctx.ntid.x);
    if (ulong(i) < ulong(p.region.count)) y[begin + to[u]] = value[u];
  }
}

constexpr constant int kGatheredAtOnce = 4;

// y[i] = x[i with the position on the axis replaced by the index at i]; `x` has a zero stride and
// `axis_stride` stands for it.
template <typename E, typename X, typename I, int kRank>
void gather(device const E* x, device const X* indices, device E* y,
            constant GatherParams<kRank>& p, Ctx ctx) {
  I first = I(ctx.tg.x) * I(ctx.ntid.x * uint(kGatheredAtOnce)) + I(ctx.tid.x);
  ulong index[kGatheredAtOnce];
  E value[kGatheredAtOnce];
#pragma unroll
  for (int u = 0; u < kGatheredAtOnce; ++u) {
    I i = first + I(uint(u) * ctx.ntid.x);
    index[u] = ~ulong(0);
    if (ulong(i) < ulong(p.count)) {
      index[u] = ulong(long(indices[offset_of<I, kRank>(i, p.indices)]));
    }
  }
#pragma unroll
  for (int u = 0; u < kGatheredAtOnce; ++u) {
    I i = first + I(uint(u) * ctx.ntid.x);
    value[u] = E(0);
    if (index[u] < ulong(p.axis_extent)) {
      value[u] = x[offset_of<I, kRank>(i, p.x) + long(index[u]) * p.axis_stride];
    }
  }
#pragma unroll
  for (int u = 0; u < kGatheredAtOnce; ++u) {
    I i = first + I(uint(u) * ctx.ntid.x);
    if (ulong(i) < ulong(p.count)) y[i] = value[u];
  }
}

// y[i] = x[outer, indices[position], inner] for i = (outer, position, inner). Rows are short runs
// along the last axis, so neighbouring threads read neighbouring elements.
template <typename E, typename X, typename I, int kRank>
void select(device const E* x, device const X* indices, device E* y,
            constant SelectParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= ulong(p.count)) return;
  I row = i / I(p.inner);
  I column = i - row * I(p.inner);
  I outer = row / I(p.positions);
  ulong index =
      ulong(long(indices[p.index_base + long(row - outer * I(p.positions)) * p.index_stride]));
  E value = E(0);
  if (index < ulong(p.axis_extent)) {
    value = x[offset_of<I, kRank>(outer * I(p.inner) + column, p.x) + long(index) * p.axis_stride];
  }
  y[i] = value;
}

// The same where the axes after the indexed one are contiguous: rows of vectors E, as many bytes
// as memory allows. p.lanes threads, a power of two, share a row; a thread takes kRows rows, and
// loads a vector of each before it stores.
template <typename E, typename X, int kRank, int kRows>
void select_rows(device const E* x, device const X* indices, device E* y,
                 constant RowParams<kRank>& p, Ctx ctx) {
  uint high = ctx.ntid.x >> uint(p.lane_bits);
  uint first = ctx.tg.x * high * uint(kRows) + (ctx.tid.x >> uint(p.lane_bits));
  long from[kRows];
#pragma unroll
  for (int u = 0; u < kRows; ++u) {
    uint row = first + uint(u) * high;
    from[u] = -1;
    if (row < ulong(p.rows)) {
      uint outer = ulong(row) < ulong(p.positions) ? 0u : row / uint(p.positions);
      long position = long(row - outer * uint(p.positions));
      ulong index = ulong(long(indices[p.index_base + position * p.index_stride]));
      if (index < ulong(p.axis_extent)) {
        from[u] = offset_of<uint, kRank>(outer, p.outer) + long(index) * p.axis_stride;
      }
    }
  }
  ulong step = ulong(p.lanes) * ctx.ntg.y;
  for (ulong column = ulong(ctx.tg.y) * ulong(p.lanes) + (ctx.tid.x & uint(p.lanes - 1));
       column < ulong(p.vectors); column += step) {
    E value[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u) value[u] = from[u] < 0 ? E(0) : x[from[u] + long(column)];
#pragma unroll
    for (int u = 0; u < kRows; ++u) {
      uint row = first + uint(u) * high;
      if (row < ulong(p.rows)) y[ulong(row) * ulong(p.vectors) + column] = value[u];
    }
  }
}
