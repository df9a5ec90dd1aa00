// Updates by index where lines are short, or many: segmented_sum.metal has the others. Text of the
// kernel dialect.
//
// Bound by memory; one line a thread. Elements are combined in A. An index outside its axis is not
// written. Deterministic: one thread updates an element, in the order of the indices.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/indexing/params.h"
#include "kernels/indexing/updates.metal"

// Updates by rule R along lines: a thread owns the line of the output that position i of the axes
// starts, and takes the indices of its line in order. Values are of dtype D; the output is of S,
// which is wider where rounding waits for the last of several values.
template <typename D, typename S, typename A, typename R, typename X, typename I, int kRank>
void scatter_serial(device const X* indices, device const typename D::memory* values,
                    device typename S::memory* output, constant ScatterLines<kRank>& p, Ctx ctx) {
  I line = I(ctx.gid.x);
  if (ulong(line) >= ulong(p.count)) return;
  long index_at = offset_of<I, kRank>(line, p.indices);
  long value_at = offset_of<I, kRank>(line, p.values);
  long output_at = offset_of<I, kRank>(line, p.output);
  for (long i = 0; i < p.length; ++i) {
    ulong index = ulong(long(indices[index_at + i * p.index_step]));
    if (index >= ulong(p.extent)) continue;
    long at = output_at + long(index) * p.output_step;
    A value = A(D::load(values[value_at + i * p.value_step]));
    output[at] = S::store(typename S::value(R::combine(A(S::load(output[at])), value)));
  }
}

// y[i] = T(x[i]): between a dtype and the type that its sums are kept in.
template <typename F, typename T>
void convert(device const F* x, device T* y, constant ConvertParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i < ulong(p.count)) y[i] = T(x[i]);
}
