// scatter_add and select_add where lines are short, or many: segmented_sum.metal has the others.
// Text of the kernel dialect.
//
// Bound by memory; one line a thread. Elements are added in the type A that their dtype sums in. An
// index outside its axis is not written. Deterministic: one thread adds to an element, in the order
// of the indices.

#include "kernels/blocks/strided.h"
#include "kernels/indexing/params.h"

// Adds along lines: a thread owns the line of the output that position i of the axes starts, and
// takes the indices of its line in order. With is_or, elements are bools and the sum is their or.
template <typename E, typename A, typename X, typename I, int kRank>
void scatter_add(device const X* indices, device const E* values, device A* output,
                 constant ScatterParams<kRank>& p, Ctx ctx) {
  I line = I(ctx.gid.x);
  if (ulong(line) >= ulong(p.lines.count)) return;
  long index_at = offset_of<I, kRank>(line, p.lines.indices);
  long value_at = offset_of<I, kRank>(line, p.lines.values);
  long output_at = offset_of<I, kRank>(line, p.lines.output);
  for (long i = 0; i < p.lines.length; ++i) {
    ulong index = ulong(long(indices[index_at + i * p.lines.index_step]));
    if (index >= ulong(p.lines.extent)) continue;
    long at = output_at + long(index) * p.lines.output_step;
    A value = A(values[value_at + i * p.lines.value_step]);
    A sum = A(output[at] + value);
    output[at] = p.is_or != 0 ? A(sum != A(0)) : sum;
  }
}

// y[i] = T(x[i]): between a dtype and the type that its sums are kept in.
template <typename F, typename T>
void convert(device const F* x, device T* y, constant ConvertParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i < ulong(p.count)) y[i] = T(x[i]);
}
