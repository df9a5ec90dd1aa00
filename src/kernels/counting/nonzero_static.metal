// Where a row of truth values is true. Text of the kernel dialect.
//
// Tiles count theirs; one threadgroup turns the counts into sums of those before; tiles put their
// places in order in threadgroup memory, so that neighbours write neighbours. The row is read
// twice; bound by memory.

#include "kernels/blocks/sum_before.h"
#include "kernels/counting/params.h"

constexpr constant uint kEach = 16u;  // elements of a thread, one after the other

// Which of a thread's elements are true, as bits. kWide: the row lies at a multiple of 16 bytes.
template <bool kWide>
inline uint chosen_bits(device const uchar* chosen, ulong size, Ctx ctx) {
  ulong first = (ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x) * kEach;
  uint bits = 0u;
  if (kWide && first + kEach <= size) {
    uint4 words = *(device const uint4*)(chosen + first);
    uint word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (uint i = 0u; i < kEach; ++i) {
      bits |= ((word[i / 4u] >> (8u * (i % 4u))) & 255u) != 0u ? 1u << i : 0u;
    }
  } else {
    for (uint i = 0u; i < kEach; ++i) {
      if (first + i < size && chosen[first + i] != 0) bits |= 1u << i;
    }
  }
  return bits;
}

template <bool kWide>
void count_places(device const uchar* chosen, device uint* counts, constant PlacesParams& p,
                  threadgroup uint* sums, Ctx ctx) {
  uint all;
  sum_before(popcount(chosen_bits<kWide>(chosen, ulong(p.size), ctx)), all, sums, ctx);
  if (ctx.tid.x == 0u) counts[ctx.tg.x] = all;
}

// Counts of tiles to what stands before each.
inline void scan_places(device const uint* counts, device ulong* before, constant PlacesParams& p,
                        threadgroup uint* sums, Ctx ctx) {
  ulong upto = 0;
  for (ulong first = 0; first < ulong(p.tiles); first += ctx.ntid.x) {
    ulong i = first + ctx.tid.x;
    uint value = i < ulong(p.tiles) ? counts[i] : 0u;
    uint all;
    uint here = sum_before(value, all, sums, ctx);
    if (i < ulong(p.tiles)) before[i] = upto + here;
    upto += all;
  }
}

// As many as `count`: behind them stands the size of the row.
template <bool kWide>
void write_places(device const uchar* chosen, device const ulong* before, device long* places,
                  constant PlacesParams& p, threadgroup ushort* staged, threadgroup uint* sums,
                  Ctx ctx) {
  uint bits = chosen_bits<kWide>(chosen, ulong(p.size), ctx);
  uint all;
  uint at = sum_before(popcount(bits), all, sums, ctx);
  while (bits != 0u) {
    uint lowest = 31u - clz(bits & (0u - bits));
    staged[at++] = ushort(ctx.tid.x * kEach + lowest);
    bits &= bits - 1u;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  ulong to = before[ctx.tg.x];
  long first = long(ulong(ctx.tg.x) * ctx.ntid.x * kEach);
  for (uint i = ctx.tid.x; i < all && to + i < ulong(p.count); i += ctx.ntid.x) {
    places[to + i] = first + long(uint(staged[i]));
  }
  if (ctx.tg.x + 1u < ctx.ntg.x) return;
  for (ulong i = to + all + ctx.tid.x; i < ulong(p.count); i += ctx.ntid.x) places[i] = p.size;
}
