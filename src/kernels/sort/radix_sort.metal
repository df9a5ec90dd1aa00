// Pairs of 32-bit keys and values, sorted by the keys, 8 bits at a time from the lowest on. Text of
// the kernel dialect.
//
// Stable: equal keys keep their order, so the result is the same in every run. A pass has three
// launches: tiles of kRounds keys a thread count their digits; one threadgroup a digit turns the
// counts of all tiles into sums of those before; tiles put their pairs in order in threadgroup
// memory and write them after those of the tiles, and of the smaller digits, before them. A
// simdgroup takes its keys in order, 32 at a time; lanes of equal digits find each other bit by
// bit. 20 bytes are read and written for each pair and pass; bound by memory, and by launches where
// keys are few.

#include "kernels/blocks/match_any.h"
#include "kernels/blocks/sum_before.h"
#include "kernels/sort/params.h"

constexpr constant uint kDigits = 256u;

// The lanes whose digit is this one's, as bits.
HEARTH_INLINE uint lanes_of_digit(uint digit) { return match_any<kDigits>(~0u, digit); }

// Where the keys of a simdgroup's round begin.
inline ulong round_begin(uint round, constant SortParams& p, Ctx ctx) {
  ulong simdgroup = ulong(ctx.tg.x) * ctx.nsg + ctx.sg;
  return (simdgroup * ulong(p.rounds) + round) * 32u;
}
inline uint digit_of(uint key, constant SortParams& p) {
  return (key >> uint(p.shift)) & (kDigits - 1u);
}

// counts[digit][tile]
inline void sort_count(device const uint* keys, device uint* counts, constant SortParams& p,
                       threadgroup atomic_uint* histogram, Ctx ctx) {
  atomic_store_explicit(&histogram[ctx.tid.x], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint round = 0; round < uint(p.rounds); ++round) {
    ulong i = round_begin(round, p, ctx) + ctx.lane;
    if (i < ulong(p.count)) {
      atomic_fetch_add_explicit(&histogram[digit_of(keys[i], p)], 1u, memory_order_relaxed);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  counts[ulong(ctx.tid.x) * ulong(p.tiles) + ctx.tg.x] =
      atomic_load_explicit(&histogram[ctx.tid.x], memory_order_relaxed);
}

// Counts to what stands before; totals[digit]
inline void sort_scan(device uint* counts, device uint* totals, constant SortParams& p,
                      threadgroup uint* sums, Ctx ctx) {
  device uint* mine = counts + ulong(ctx.tg.x) * ulong(p.tiles);
  uint before = 0;
  for (ulong first = 0; first < ulong(p.tiles); first += ctx.ntid.x) {
    ulong i = first + ctx.tid.x;
    uint value = i < ulong(p.tiles) ? mine[i] : 0u;
    uint all;
    uint here = sum_before(value, all, sums, ctx);
    if (i < ulong(p.tiles)) mine[i] = before + here;
    before += all;
  }
  if (ctx.tid.x == 0u) totals[ctx.tg.x] = before;
}

// `places` has kDigits counters for each simdgroup, `staged` room for a tile, `shifts` for kDigits.
template <int kRounds>
void sort_place(device const uint* keys, device const uint* values, device const uint* counts,
                device const uint* totals, device uint* keys_out, device uint* values_out,
                constant SortParams& p, threadgroup uint* places, threadgroup uint* staged,
                threadgroup uint* shifts, threadgroup uint* sums, Ctx ctx) {
  threadgroup uint* mine = places + ctx.sg * kDigits;
  for (uint digit = ctx.lane; digit < kDigits; digit += 32u) mine[digit] = 0u;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  // What lies behind the last key has the largest digit, and stands behind all others of it.
  uint key[kRounds], place[kRounds];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    ulong i = round_begin(uint(round), p, ctx) + ctx.lane;
    key[round] = i < ulong(p.count) ? keys[i] : ~0u;
    place[round] = lanes_of_digit(digit_of(key[round], p));
  }
  // How many of a simdgroup's keys before it have the digit.
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    uint digit = digit_of(key[round], p), alike = place[round];
    uint smaller = popcount(alike & ((1u << ctx.lane) - 1u)), begin = mine[digit];
    place[round] = begin + smaller;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (smaller == 0u) mine[digit] = begin + popcount(alike);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  // A thread has a digit: where its keys begin in the tile, of each simdgroup, and in the result.
  uint in_tile = 0u, all;
  for (uint i = 0; i < ctx.nsg; ++i) in_tile += places[i * kDigits + ctx.tid.x];
  uint begin = sum_before(in_tile, all, sums, ctx);
  uint to = sum_before(totals[ctx.tid.x], all, sums, ctx) +
            counts[ulong(ctx.tid.x) * ulong(p.tiles) + ctx.tg.x];
  shifts[ctx.tid.x] = to - begin;
  for (uint i = 0; i < ctx.nsg; ++i) {
    uint here = places[i * kDigits + ctx.tid.x];
    places[i * kDigits + ctx.tid.x] = begin;
    begin += here;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  // The tile in order, keys and then values, so that neighbours write neighbours.
  ulong first = ulong(ctx.tg.x) * ctx.ntid.x * ulong(kRounds);
  uint count = uint(metal::min(ulong(p.count) - first, ulong(ctx.ntid.x) * ulong(kRounds)));
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    place[round] += mine[digit_of(key[round], p)];
    staged[place[round]] = key[round];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint where_to[kRounds];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    uint at = uint(round) * ctx.ntid.x + ctx.tid.x;
    if (at >= count) continue;
    uint own = staged[at];
    where_to[round] = at + shifts[digit_of(own, p)];
    keys_out[where_to[round]] = own;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    ulong i = round_begin(uint(round), p, ctx) + ctx.lane;
    if (i < ulong(p.count)) staged[place[round]] = values[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    uint at = uint(round) * ctx.ntid.x + ctx.tid.x;
    if (at < count) values_out[where_to[round]] = staged[at];
  }
}
