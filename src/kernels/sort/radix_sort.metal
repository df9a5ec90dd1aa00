// Pairs of 32-bit keys and values, sorted by the keys, 8 bits at a time from the lowest on. Text of
// the kernel dialect.
//
// Stable: equal keys keep their order, so the result is the same in every run. A pass has three
// launches: tiles of kRounds keys a thread count their digits; one threadgroup a digit turns the
// counts of all tiles into sums of those before; tiles write their pairs after those of the tiles,
// and of the smaller digits, before them. A simdgroup takes its keys in order, 32 at a time; lanes
// of equal digits find each other bit by bit. 16 bytes are read and written for each pair and pass;
// bound by memory, and by launches where keys are few.

#include "kernels/blocks/match_any.h"
#include "kernels/sort/params.h"

constexpr constant uint kDigits = 256u;
constexpr constant uint kNoDigit = 256u;

// The lanes whose digit is this one's, as bits.
HEARTH_INLINE uint lanes_of_digit(uint digit) { return match_any<2u * kNoDigit>(~0u, digit); }

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

// The sum of the values of all threads before this one; `all` is that of all threads.
inline uint sum_before(uint value, thread uint& all, threadgroup uint* sums, Ctx ctx) {
  uint before = simd_prefix_inclusive_sum(value) - value;
  if (ctx.lane == 31u) sums[ctx.sg] = before + value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  all = 0;
  for (uint i = 0; i < ctx.nsg; ++i) {
    before += i < ctx.sg ? sums[i] : 0u;
    all += sums[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return before;
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

// `places` has kDigits counters for each simdgroup.
inline void sort_place(device const uint* keys, device const uint* values,
                       device const uint* counts, device const uint* totals, device uint* keys_out,
                       device uint* values_out, constant SortParams& p, threadgroup uint* places,
                       threadgroup uint* sums, Ctx ctx) {
  threadgroup uint* mine = places + ctx.sg * kDigits;
  for (uint digit = ctx.lane; digit < kDigits; digit += 32u) mine[digit] = 0u;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  // What this simdgroup has of each digit, then where that goes, then where the next one goes.
  for (uint round = 0; round < uint(p.rounds); ++round) {
    ulong i = round_begin(round, p, ctx) + ctx.lane;
    uint digit = i < ulong(p.count) ? digit_of(keys[i], p) : kNoDigit;
    uint alike = lanes_of_digit(digit);
    bool first = (alike & ((1u << ctx.lane) - 1u)) == 0u;
    if (digit != kNoDigit && first) mine[digit] += popcount(alike);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  uint all;
  uint place = sum_before(totals[ctx.tid.x], all, sums, ctx);
  place += counts[ulong(ctx.tid.x) * ulong(p.tiles) + ctx.tg.x];
  for (uint i = 0; i < ctx.nsg; ++i) {
    uint here = places[i * kDigits + ctx.tid.x];
    places[i * kDigits + ctx.tid.x] = place;
    place += here;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint round = 0; round < uint(p.rounds); ++round) {
    ulong i = round_begin(round, p, ctx) + ctx.lane;
    uint key = i < ulong(p.count) ? keys[i] : 0u;
    uint digit = i < ulong(p.count) ? digit_of(key, p) : kNoDigit;
    uint alike = lanes_of_digit(digit);
    uint smaller = popcount(alike & ((1u << ctx.lane) - 1u));
    uint begin = digit != kNoDigit ? mine[digit] : 0u;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (digit != kNoDigit) {
      keys_out[begin + smaller] = key;
      values_out[begin + smaller] = values[i];
      if (smaller == 0u) mine[digit] = begin + popcount(alike);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
