// Places of values in sorted rows. Text of the kernel dialect.
//
// A thread searches for kSearchesAtOnce values, comparing keys as sort.metal makes them. Each value
// takes log2(length) dependent loads; those of different values overlap. Bound by their latency.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/sort/key.metal"

template <typename U, typename X, typename I, bool kRight, int kRank>
void searchsorted(device const U* sorted, device const U* values, device X* places,
                  constant SearchParams<kRank>& p, Ctx ctx) {
  I begin = I(ctx.tg.x) * I(ctx.ntid.x * uint(kSearchesAtOnce)) + I(ctx.tid.x);
  U value[kSearchesAtOnce];
  device const U* row[kSearchesAtOnce];
  I first[kSearchesAtOnce];
#pragma unroll
  for (int u = 0; u < kSearchesAtOnce; ++u) {
    I i = metal::min(begin + I(uint(u) * ctx.ntid.x), I(p.count) - I(1));
    value[u] = key_of<U>(values[offset_of<I, kRank>(i, p.values)], p.order);
    row[u] = sorted + offset_of<I, kRank>(i, p.sorted);
    first[u] = I(0);
  }
  // The place is one of [first, first + length].
  for (I length = I(p.length); length > I(0);) {
    I lower = length > I(1) ? length >> 1 : I(1);
#pragma unroll
    for (int u = 0; u < kSearchesAtOnce; ++u) {
      U element = key_of<U>(row[u][long(first[u] + lower - I(1)) * p.step], p.order);
      bool goes_on = kRight ? element <= value[u] : element < value[u];
      first[u] += goes_on ? lower : I(0);
    }
    length -= lower;
  }
#pragma unroll
  for (int u = 0; u < kSearchesAtOnce; ++u) {
    I i = begin + I(uint(u) * ctx.ntid.x);
    if (ulong(i) < ulong(p.count)) places[i] = X(first[u]);
  }
}
