// cat, slice_assign, gather, scatter_add, select and select_add. Text of the kernel dialect.
//
// Bound by memory; one element a thread. Elements are moved as the unsigned integer of their size E,
// and added in the type A that their dtype sums in. An index outside its axis reads as zero and is
// not written. Sums are deterministic: one thread adds to an element, in the order of the indices.

#include "kernels/strided.h"

// y[position i of the axes] = x[position i of its axes].
template <int kRank>
struct CopyParams {
  ulong count;
  Axes<kRank> x, y;
};

template <typename E, typename I, int kRank>
void strided_copy(device const E* x, device E* y, constant CopyParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= p.count) return;
  y[offset_of<I, kRank>(i, p.y)] = x[offset_of<I, kRank>(i, p.x)];
}

// y[start + step * position] = x[position] with starts from the dynamic block, from word `dynamic`
// on. Where the region would reach outside, it is moved inside.
template <int kRank>
struct AssignParams {
  ulong count;
  long dynamic;
  long extent[kRank];  // of y
  long step[kRank];
  Axes<kRank> x, y;  // y: strides of the whole array, times the steps
};

template <typename E, typename I, int kRank>
void slice_assign(device const E* x, device E* y, device const ulong* dynamics,
                  constant AssignParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= p.count) return;
  long offset = 0;
  for (int axis = 0; axis < kRank; ++axis) {
    long span = (p.x.extent[axis] - 1) * p.step[axis];
    long start = long(dynamics[p.dynamic + axis]);
    if (span >= 0) {
      start = metal::max(0l, metal::min(start, p.extent[axis] - 1 - span));
    } else {
      start = metal::min(p.extent[axis] - 1, metal::max(start, -span));
    }
    offset += start * p.y.stride[axis] / p.step[axis];
  }
  y[offset + offset_of<I, kRank>(i, p.y)] = x[offset_of<I, kRank>(i, p.x)];
}

// y[i] = x[i with the position on the axis replaced by the index at i]; `x` has a zero stride and
// `axis_stride` stands for it.
template <int kRank>
struct GatherParams {
  ulong count;
  long axis_extent;
  long axis_stride;
  Axes<kRank> x, indices;
};

template <typename E, typename X, typename I, int kRank>
void gather(device const E* x, device const X* indices, device E* y,
            constant GatherParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= p.count) return;
  ulong index = ulong(long(indices[offset_of<I, kRank>(i, p.indices)]));
  E value = E(0);
  if (index < ulong(p.axis_extent)) {
    value = x[offset_of<I, kRank>(i, p.x) + long(index) * p.axis_stride];
  }
  y[i] = value;
}

// y[i] = x[outer, indices[position], inner] for i = (outer, position, inner). Rows are short runs
// along the last axis, so neighbouring threads read neighbouring elements.
template <int kRank>
struct SelectParams {
  ulong count;
  long positions;
  long inner;
  long index_base;  // of the first index
  long index_stride;
  long axis_extent;
  long axis_stride;
  Axes<kRank> x;  // with an extent of 1 on the axis
};

template <typename E, typename X, typename I, int kRank>
void select(device const E* x, device const X* indices, device E* y,
            constant SelectParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= p.count) return;
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

// Adds along lines: a thread owns the line of the output that position i of the axes starts, and
// takes the indices of its line in order. With is_or, elements are bools and the sum is their or.
template <int kRank>
struct ScatterParams {
  ulong lines;
  long length;  // of a line of indices and values
  long extent;  // of the output's axis
  long is_or;
  long index_step, value_step, output_step;  // along the axis
  Axes<kRank> indices, values, output;       // with an extent of 1 on the axis
};

template <typename E, typename A, typename X, typename I, int kRank>
void scatter_add(device const X* indices, device const E* values, device A* output,
                 constant ScatterParams<kRank>& p, Ctx ctx) {
  I line = I(ctx.gid.x);
  if (ulong(line) >= p.lines) return;
  long index_at = offset_of<I, kRank>(line, p.indices);
  long value_at = offset_of<I, kRank>(line, p.values);
  long output_at = offset_of<I, kRank>(line, p.output);
  for (long i = 0; i < p.length; ++i) {
    ulong index = ulong(long(indices[index_at + i * p.index_step]));
    if (index >= ulong(p.extent)) continue;
    long at = output_at + long(index) * p.output_step;
    A value = A(values[value_at + i * p.value_step]);
    A sum = A(output[at] + value);
    output[at] = p.is_or != 0 ? A(sum != A(0)) : sum;
  }
}

// y[i] = T(x[i]): between a dtype and the type that its sums are kept in.
struct ConvertParams {
  ulong count;
};

template <typename F, typename T>
void convert(device const F* x, device T* y, constant ConvertParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i < p.count) y[i] = T(x[i]);
}
