// The k elements of each row whose keys are least, in order. Text of the kernel dialect.
//
// A threadgroup has a part of a row. Groups of threads find the least key of what they read; at
// least k elements are not above the k-th least of these, and few more are where the order of
// elements says nothing of their keys. These are collected in threadgroup memory and sorted there
// with their places, so that of equal keys the first ones are taken. Where more are collected than
// there is room for, as where many are equal, the k-th least key is found digit by digit. Results
// of several parts are a row again. Elements are read twice, the second time from a cache; bound by
// memory.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/blocks/sum_before.h"
#include "kernels/sort/exchange.metal"
#include "kernels/sort/key.metal"

constexpr constant uint kBins = uint(kTopkBins);
constexpr constant uint kFound = uint(kTopkFound);
constexpr constant uint kDigit = uint(kTopkDigit);
constexpr constant uint kLeft = uint(kTopkLeft);
constexpr constant int kBytesAtOnce = 32;  // of keys that a thread loads before it looks at them

HEARTH_INLINE uint counter(threadgroup atomic_uint* counters, uint i) {
  return atomic_load_explicit(&counters[i], memory_order_relaxed);
}
HEARTH_INLINE void set_counter(threadgroup atomic_uint* counters, uint i, uint value) {
  atomic_store_explicit(&counters[i], value, memory_order_relaxed);
}
HEARTH_INLINE uint count_one(threadgroup atomic_uint* counters, uint i) {
  return atomic_fetch_add_explicit(&counters[i], 1u, memory_order_relaxed);
}

// Of all that this thread reads.
template <typename U, typename K, int kForm>
inline K least_key(device const U* x, uint length, constant KeyOrder& order, Ctx ctx) {
  const int kAtOnce = kBytesAtOnce / int(sizeof(K));
  K least = K(~K(0));
  uint step = ctx.ntid.x, i = ctx.tid.x;
  for (; i + uint(kAtOnce - 1) * step < length; i += uint(kAtOnce) * step) {
    U loaded[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) loaded[u] = x[i + uint(u) * step];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      least = metal::min(least, K(key_as<U, kForm>(loaded[u], order)));
  }
  for (; i < length; i += step) least = metal::min(least, K(key_as<U, kForm>(x[i], order)));
  return least;
}

// Collects an element if its key is not above `most`.
template <typename K>
HEARTH_INLINE void collect(K key, K most, uint i, uint room, threadgroup K* keys,
                           threadgroup uint* places, threadgroup atomic_uint* counters) {
  if (key > most) return;
  uint at = count_one(counters, kFound);
  if (at >= room) return;
  keys[at] = key;
  places[at] = i;
}
template <typename U, typename K, int kForm>
inline void collect_all(device const U* x, uint length, K most, uint room, constant KeyOrder& order,
                        threadgroup K* keys, threadgroup uint* places,
                        threadgroup atomic_uint* counters, Ctx ctx) {
  const int kAtOnce = kBytesAtOnce / int(sizeof(K));
  uint step = ctx.ntid.x, i = ctx.tid.x;
  for (; i + uint(kAtOnce - 1) * step < length; i += uint(kAtOnce) * step) {
    U loaded[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) loaded[u] = x[i + uint(u) * step];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      collect<K>(K(key_as<U, kForm>(loaded[u], order)), most, i + uint(u) * step, room, keys,
                 places, counters);
    }
  }
  for (; i < length; i += step) {
    collect<K>(K(key_as<U, kForm>(x[i], order)), most, i, room, keys, places, counters);
  }
}

// Collects exactly k, which there are.
template <typename U, typename K, int kForm>
inline void collect_by_digits(device const U* x, uint length, uint k, constant KeyOrder& order,
                              threadgroup K* keys, threadgroup uint* places,
                              threadgroup atomic_uint* counters, threadgroup uint* sums, Ctx ctx) {
  K known = K(0), mask = K(0);
  uint left = k;  // of those that have the known digits
  for (int shift = 8 * int(sizeof(U)) - 8; shift >= 0; shift -= 8) {
    for (uint bin = ctx.tid.x; bin < kBins; bin += ctx.ntid.x) set_counter(counters, bin, 0u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = ctx.tid.x; i < length; i += ctx.ntid.x) {
      K key = K(key_as<U, kForm>(x[i], order));
      if ((key & mask) == known) count_one(counters, uint(key >> shift) & (kBins - 1u));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (ctx.sg == 0u) {
      uint digit = ctx.lane * (kBins / 32u), own = 0u;
      for (uint i = 0u; i < kBins / 32u; ++i) own += counter(counters, digit + i);
      uint upto = simd_prefix_inclusive_sum(own);
      uint before = upto - own;
      if (before < left && left <= upto) {
        uint here = counter(counters, digit);
        while (before + here < left) {
          before += here;
          ++digit;
          here = counter(counters, digit);
        }
        set_counter(counters, kDigit, digit);
        set_counter(counters, kLeft, left - before);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    known |= K(counter(counters, kDigit)) << shift;
    mask |= K(kBins - 1u) << shift;
    left = counter(counters, kLeft);
  }
  if (ctx.tid.x == 0u) set_counter(counters, kFound, 0u);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint below = k - left;
  if (known > K(0)) {
    collect_all<U, K, kForm>(x, length, K(known - K(1)), below, order, keys, places, counters, ctx);
  }
  uint taken = 0u;
  for (uint first = 0u; first < length && taken < left; first += ctx.ntid.x) {
    uint i = first + ctx.tid.x;
    bool equal = i < length && K(key_as<U, kForm>(x[i], order)) == known;
    uint all;
    uint at = taken + sum_before(equal ? 1u : 0u, all, sums, ctx);
    if (equal && at < left) {
      keys[below + at] = known;
      places[below + at] = i;
    }
    taken += all;
  }
}

// The k least of `length` elements, in order; where there are fewer, what follows has no place.
template <typename U, typename K, int kForm>
inline void least_in_order(device const U* x, uint length, constant LeastParams& p, uint room,
                           threadgroup K* keys, threadgroup uint* places,
                           threadgroup atomic_uint* counters, threadgroup uint* sums, Ctx ctx) {
  uint k = uint(p.k), shared = uint(p.shared), groups = ctx.ntid.x / shared;
  K least = least_key<U, K, kForm>(x, length, p.order, ctx);
  for (uint lanes = 1u; lanes < shared; lanes *= 2u) {
    least = metal::min(least, of_lane_xor(least, ushort(lanes)));
  }
  if ((ctx.lane & (shared - 1u)) == 0u) {
    keys[ctx.tid.x / shared] = least;
    places[ctx.tid.x / shared] = ctx.tid.x;
  }
  if (ctx.tid.x == 0u) set_counter(counters, kFound, 0u);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sort_places<K, uint>(keys, places, groups / 2u, groups, ctx);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  K most = keys[k - 1u];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  collect_all<U, K, kForm>(x, length, most, room, p.order, keys, places, counters, ctx);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint found = counter(counters, kFound);
  if (found > room) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    collect_by_digits<U, K, kForm>(x, length, k, p.order, keys, places, counters, sums, ctx);
    found = k;
  }
  uint width = 2u;
  while (width < metal::max(found, k)) width *= 2u;
  for (uint i = found + ctx.tid.x; i < width; i += ctx.ntid.x) {
    keys[i] = K(~K(0));
    places[i] = ~0u;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sort_places<K, uint>(keys, places, width / 2u, width, ctx);
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// The part of a row that the threadgroup has.
struct RowPart {
  ulong row;
  long first;
  uint length;
};
HEARTH_INLINE RowPart row_part(constant LeastParams& p, Ctx ctx) {
  RowPart part;
  part.row = ulong(ctx.tg.x) / ulong(p.parts);
  part.first = (long(ctx.tg.x) - long(part.row) * p.parts) * p.part;
  part.length = uint(metal::min(p.part, p.length - part.first));
  return part;
}

// Of elements: keys and places in their row.
template <typename U, typename K, uint kRoom, int kForm, int kRank>
void topk_elements(device const U* x, device K* least, device uint* from,
                   constant RowLeastParams<kRank>& p, threadgroup K* keys, threadgroup uint* places,
                   threadgroup atomic_uint* counters, threadgroup uint* sums, Ctx ctx) {
  RowPart part = row_part(p.least, ctx);
  x += offset_of<ulong, kRank>(part.row, p.x) + part.first;
  least_in_order<U, K, kForm>(x, part.length, p.least, kRoom, keys, places, counters, sums, ctx);
  for (uint i = ctx.tid.x; i < uint(p.least.k); i += ctx.ntid.x) {
    ulong to = ulong(ctx.tg.x) * ulong(p.least.k) + i;
    least[to] = keys[i];
    from[to] = places[i] == ~0u ? 0u : uint(part.first) + places[i];
  }
}
// Of the results of parts.
template <typename K, uint kRoom>
void topk_parts(device const K* x, device const uint* x_from, device K* least, device uint* from,
                constant LeastParams& p, threadgroup K* keys, threadgroup uint* places,
                threadgroup atomic_uint* counters, threadgroup uint* sums, Ctx ctx) {
  RowPart part = row_part(p, ctx);
  ulong begin = part.row * ulong(p.length) + ulong(part.first);
  least_in_order<K, K, kSortIntegers>(x + begin, part.length, p, kRoom, keys, places, counters,
                                      sums, ctx);
  for (uint i = ctx.tid.x; i < uint(p.k); i += ctx.ntid.x) {
    ulong to = ulong(ctx.tg.x) * ulong(p.k) + i;
    least[to] = keys[i];
    from[to] = places[i] == ~0u ? 0u : x_from[begin + places[i]];
  }
}

template <typename U, typename I, bool kValues, bool kIndices, int kRank>
inline void pick(device const U* x, device const uint* from, device U* values, device I* indices,
                 constant RowPickParams<kRank>& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count)) return;
  uint at = from[i];
  if (kValues) values[i] = x[offset_of<ulong, kRank>(i / ulong(p.k), p.x) + long(at)];
  if (kIndices) indices[i] = I(at);
}
template <typename U, typename I, int kRank>
void topk_pick(device const U* x, device const uint* from, device U* values, device I* indices,
               constant RowPickParams<kRank>& p, Ctx ctx) {
  pick<U, I, true, true, kRank>(x, from, values, indices, p, ctx);
}
template <typename U, int kRank>
void topk_pick_values(device const U* x, device const uint* from, device U* values,
                      constant RowPickParams<kRank>& p, Ctx ctx) {
  pick<U, U, true, false, kRank>(x, from, values, values, p, ctx);
}
template <typename U, typename I, int kRank>
void topk_pick_indices(device const U* x, device const uint* from, device I* indices,
                       constant RowPickParams<kRank>& p, Ctx ctx) {
  pick<U, I, false, true, kRank>(x, from, (device U*)indices, indices, p, ctx);
}
