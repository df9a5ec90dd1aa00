// Places of values in sorted rows. Text of the kernel dialect.
//
// A thread searches for one value, comparing keys as sort.metal makes them: log2 of the row's
// length dependent loads, the first of which all threads of a row share. Bound by their latency.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/sort/key.metal"

template <typename U, typename X, typename I, bool kRight, int kRank>
void searchsorted(device const U* sorted, device const U* values, device X* places,
                  constant SearchParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.tg.x) * I(ctx.ntid.x) + I(ctx.tid.x);
  if (ulong(i) >= ulong(p.count)) return;
  U value = key_of<U>(values[offset_of<I, kRank>(i, p.values)], p.order);
  device const U* row = sorted + offset_of<I, kRank>(i, p.sorted);
  long low = 0, count = p.length;
  while (count > 0) {
    long half_count = count >> 1;
    U element = key_of<U>(row[(low + half_count) * p.step], p.order);
    bool goes_on = kRight ? element <= value : element < value;
    low = goes_on ? low + half_count + 1 : low;
    count = goes_on ? count - half_count - 1 : half_count;
  }
  places[i] = X(low);
}
