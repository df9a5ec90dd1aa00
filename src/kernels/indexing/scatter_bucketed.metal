// scatter and scatter_add of single elements into lines of more destinations than
// kernels/indexing/scatter_privatized.metal can look through. Text of the kernel dialect.
//
//   y[index] = y[index] updated by value for the elements of a line, in their order
//
// kLines neighbouring lines are a bundle: where lines are not contiguous, several are taken
// together, so that memory is read in whole sectors. The destinations of a bundle are cut into
// buckets, called bins: as many as a simdgroup can keep sums of. Elements are sorted by bins,
// stably, in one pass: counted by tiles (bin_count), tiles and bins given their places
// (bin_places), written there as entries of value and destination (bin_entries). Then a simdgroup a
// bin combines its entries (bin_sums): lanes of equal destinations take turns, lowest first, so
// that every sum has the order of its elements, is kept in A and rounded once, whatever the
// schedule. Bins without entries are left alone. Indices are read twice, values once, entries
// written and read once, the output read and written once; bound by memory, and by the sectors that
// scattered entries touch. Indices outside the axis are dropped.

#include "kernels/blocks/divisor.h"
#include "kernels/blocks/elements.h"
#include "kernels/blocks/match_any.h"
#include "kernels/blocks/strided.h"
#include "kernels/indexing/ordered_warp_update.metal"
#include "kernels/indexing/params.h"

constexpr constant uint kMaxBins = 512u;
constexpr constant uint kBinThreads = 256u;
constexpr constant uint kBinSimdgroups = 8u;
constexpr constant int kBinAhead = 4;
constexpr constant int kBinOutputs = 8;

// What a lane walks: one line of a bundle, row by row.
struct BinLane {
  uint line;  // of the bundle
  uint at;    // of all lines; the bundle's first where there is none
  bool here;
  uint row;  // the first along the axis
};
template <int kLines, int kRank>
inline BinLane bin_lane(constant BinParams<kRank>& p, Ctx ctx) {
  BinLane lane;
  lane.line = ctx.lane % uint(kLines);
  uint first = ctx.tg.x * uint(kLines);
  lane.here = ulong(first + lane.line) < ulong(p.lines.count);
  lane.at = lane.here ? first + lane.line : first;
  uint simdgroup = ctx.tg.y * kBinSimdgroups + ctx.sg;
  lane.row = simdgroup * uint(p.rounds) * (32u / uint(kLines)) + ctx.lane / uint(kLines);
  return lane;
}

// Loads come before all that waits for them, so that a lane has several in flight.
template <typename E, int kLines, int kRank>
inline void bin_load(thread E* element, device const E* from, long step, BinLane lane, uint round,
                     constant BinParams<kRank>& p) {
#pragma unroll
  for (int u = 0; u < kBinAhead; ++u) {
    uint row = lane.row + (round + uint(u)) * (32u / uint(kLines));
    element[u] = E(0);
    if (lane.here && row < uint(p.lines.length)) element[u] = from[long(row) * step];
  }
}
// The u-th index of those, or ~0.
template <typename X, int kLines, int kRank>
inline uint bin_index(X element, BinLane lane, uint round, constant BinParams<kRank>& p) {
  bool here = lane.here && lane.row + round * (32u / uint(kLines)) < uint(p.lines.length);
  ulong index = ulong(long(element));
  return here && index < ulong(p.lines.extent) ? uint(index) : ~0u;
}
template <int kRank>
inline uint bin_of(uint index, constant BinParams<kRank>& p) {
  return divided(index, p.share);
}

// counts[bundle][tile][bin], and within[bundle][tile][simdgroup][bin]: those of the simdgroups
// before.
template <typename X, int kLines, int kRank>
void bin_count(device const X* indices, device uint* counts, device ushort* within,
               constant BinParams<kRank>& p, threadgroup atomic_uint* histogram, Ctx ctx) {
  for (uint i = ctx.tid.x; i < kMaxBins * kBinSimdgroups; i += kBinThreads) {
    atomic_store_explicit(&histogram[i], 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  BinLane lane = bin_lane<kLines, kRank>(p, ctx);
  indices += offset_of<uint, kRank>(lane.at, p.lines.indices);
  threadgroup atomic_uint* mine = histogram + ctx.sg * kMaxBins;
  for (uint round = 0u; round < uint(p.rounds); round += uint(kBinAhead)) {
    X element[kBinAhead];
    bin_load<X, kLines, kRank>(element, indices, p.lines.index_step, lane, round, p);
#pragma unroll
    for (int u = 0; u < kBinAhead; ++u) {
      uint index = bin_index<X, kLines, kRank>(element[u], lane, round + uint(u), p);
      if (index != ~0u) {
        atomic_fetch_add_explicit(&mine[bin_of(index, p)], 1u, memory_order_relaxed);
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  ulong tile = ulong(ctx.tg.x) * ulong(p.tiles) + ctx.tg.y;
  for (uint bin = ctx.tid.x; bin < uint(p.bins); bin += kBinThreads) {
    uint before = 0u;
#pragma unroll
    for (uint sg = 0u; sg < kBinSimdgroups; ++sg) {
      within[(tile * kBinSimdgroups + sg) * ulong(p.bins) + bin] = ushort(before);
      before += atomic_load_explicit(&histogram[sg * kMaxBins + bin], memory_order_relaxed);
    }
    counts[tile * ulong(p.bins) + bin] = before;
  }
}

// Counts to those of the tiles before; totals[bundle][bin]. A thread has one bin.
inline void bin_places(device uint* counts, device uint* totals, constant BinPlaceParams& p,
                       Ctx ctx) {
  uint i = ctx.gid.x;
  if (ulong(i) >= ulong(p.count)) return;
  uint bundle = i / uint(p.bins);
  counts += ulong(bundle) * ulong(p.tiles) * ulong(p.bins) + (i - bundle * uint(p.bins));
  uint before = 0u;
  for (uint first = 0u; first < uint(p.tiles); first += 8u) {
    uint value[8];
#pragma unroll
    for (uint u = 0u; u < 8u; ++u) {
      value[u] = first + u < uint(p.tiles) ? counts[ulong(first + u) * ulong(p.bins)] : 0u;
    }
#pragma unroll
    for (uint u = 0u; u < 8u; ++u) {
      if (first + u < uint(p.tiles)) counts[ulong(first + u) * ulong(p.bins)] = before;
      before += value[u];
    }
  }
  totals[i] = before;
}

// An element's place among the sums of its bin, and its bits.
template <int kBytes>
struct BinEntry {
  typedef uint2 packed;
  static HEARTH_INLINE uint2 of(uint place, thread const uint* word) {
    return uint2(place, word[0]);
  }
  static HEARTH_INLINE uint place(uint2 entry, thread uint* word) {
    word[0] = entry.y;
    return entry.x;
  }
};
template <>
struct BinEntry<8> {
  typedef uint4 packed;
  static HEARTH_INLINE uint4 of(uint place, thread const uint* word) {
    return uint4(place, word[0], word[1], 0u);
  }
  static HEARTH_INLINE uint place(uint4 entry, thread uint* word) {
    word[0] = entry.y;
    word[1] = entry.z;
    return entry.x;
  }
};

template <typename D, typename X, int kLines, int kRank>
void bin_entries(device const X* indices, device const typename D::memory* values,
                 device const uint* counts, device const ushort* within, device const uint* totals,
                 device typename BinEntry<int(sizeof(typename D::memory))>::packed* entries,
                 constant BinParams<kRank>& p, threadgroup uint* next, threadgroup uint* sums,
                 Ctx ctx) {
  typedef BinEntry<int(sizeof(typename D::memory))> Entry;
  // Where each simdgroup's entries of each bin go. A thread has two neighbouring bins.
  ulong tile = ulong(ctx.tg.x) * ulong(p.tiles) + ctx.tg.y;
  uint total[2];
#pragma unroll
  for (uint k = 0u; k < 2u; ++k) {
    uint bin = 2u * ctx.tid.x + k;
    total[k] = bin < uint(p.bins) ? totals[ulong(ctx.tg.x) * ulong(p.bins) + bin] : 0u;
  }
  uint before = simd_prefix_inclusive_sum(total[0] + total[1]);
  if (ctx.lane == 31u) sums[ctx.sg] = before;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  before -= total[0] + total[1];
  for (uint sg = 0u; sg < ctx.sg; ++sg) before += sums[sg];
#pragma unroll
  for (uint k = 0u; k < 2u; ++k) {
    uint bin = 2u * ctx.tid.x + k;
    if (bin < uint(p.bins)) {
      uint begin = before + counts[tile * ulong(p.bins) + bin];
#pragma unroll
      for (uint sg = 0u; sg < kBinSimdgroups; ++sg) {
        next[sg * kMaxBins + bin] =
            begin + uint(within[(tile * kBinSimdgroups + sg) * ulong(p.bins) + bin]);
      }
    }
    before += total[k];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  BinLane lane = bin_lane<kLines, kRank>(p, ctx);
  indices += offset_of<uint, kRank>(lane.at, p.lines.indices);
  values += offset_of<uint, kRank>(lane.at, p.lines.values);
  entries += ulong(ctx.tg.x) * uint(kLines) * ulong(p.lines.length);
  threadgroup uint* mine = next + ctx.sg * kMaxBins;
  for (uint round = 0u; round < uint(p.rounds); round += uint(kBinAhead)) {
    X element[kBinAhead];
    typename D::memory value[kBinAhead];
    bin_load<X, kLines, kRank>(element, indices, p.lines.index_step, lane, round, p);
    bin_load<typename D::memory, kLines, kRank>(value, values, p.lines.value_step, lane, round, p);
#pragma unroll
    for (int u = 0; u < kBinAhead; ++u) {
      uint index = bin_index<X, kLines, kRank>(element[u], lane, round + uint(u), p);
      bool taken = index != ~0u;
      uint bin = taken ? bin_of(index, p) : 0u;
      uint alike = match_any<kMaxBins>(ballot(taken), bin);
      uint smaller = popcount(alike & ((1u << ctx.lane) - 1u));
      uint begin = mine[bin];
      simdgroup_barrier(mem_flags::mem_threadgroup);
      if (taken) {
        uint place = (index - bin * uint(p.share.extent)) * uint(kLines) + lane.line;
        uint word[2] = {0u, 0u};
        D::put(word, 0, D::load(value[u]));
        entries[begin + smaller] = Entry::of(place, word);
        if (smaller == 0u) mine[bin] = begin + popcount(alike);
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}

template <typename D, typename A, typename R, int kLines, int kRank>
void bin_sums(device const typename BinEntry<int(sizeof(typename D::memory))>::packed* entries,
              device const uint* totals, device typename D::memory* output,
              constant BinParams<kRank>& p, threadgroup A* sums, Ctx ctx) {
  typedef BinEntry<int(sizeof(typename D::memory))> Entry;
  uint bin = ctx.tg.y * kBinSimdgroups + ctx.sg;
  if (bin >= uint(p.bins)) return;
  totals += ulong(ctx.tg.x) * ulong(p.bins);
  uint count = totals[bin];
  if (count == 0u) return;
  uint before = 0u;
  for (uint other = ctx.lane; other < bin; other += 32u) before += totals[other];
  entries += ulong(ctx.tg.x) * uint(kLines) * ulong(p.lines.length) + simd_sum(before);

  // Sums lie as the lanes find them: lines innermost.
  BinLane lane = bin_lane<kLines, kRank>(p, ctx);
  uint first = bin * uint(p.share.extent);
  uint places = metal::min(uint(p.share.extent), uint(p.lines.extent) - first) * uint(kLines);
  output += offset_of<uint, kRank>(lane.at, p.lines.output) + long(first) * p.lines.output_step;
  threadgroup A* mine = sums + ctx.sg * uint(p.share.extent) * uint(kLines);
  for (uint begin = ctx.lane; begin < places; begin += 32u * uint(kBinOutputs)) {
    typename D::memory old[kBinOutputs];
#pragma unroll
    for (int u = 0; u < kBinOutputs; ++u) {
      uint place = begin + 32u * uint(u);
      old[u] = typename D::memory(0);
      if (lane.here && place < places) {
        old[u] = output[long(place / uint(kLines)) * p.lines.output_step];
      }
    }
#pragma unroll
    for (int u = 0; u < kBinOutputs; ++u) {
      uint place = begin + 32u * uint(u);
      if (place < places) mine[place] = A(D::load(old[u]));
    }
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint begin = 0u; begin < count; begin += 32u * uint(kBinAhead)) {
    typename Entry::packed entry[kBinAhead];
#pragma unroll
    for (int u = 0; u < kBinAhead; ++u) {
      uint i = begin + uint(u) * 32u + ctx.lane;
      entry[u] = entries[i < count ? i : count - 1u];
    }
#pragma unroll
    for (int u = 0; u < kBinAhead; ++u) {
      bool here = begin + uint(u) * 32u + ctx.lane < count;
      uint word[2] = {0u, 0u};
      uint place = here ? Entry::place(entry[u], word) : 0u;
      update_in_turn<R>(here, place, A(D::get(word, 0)), mine, 1u, ctx);
    }
  }
#pragma unroll 4
  for (uint place = ctx.lane; place < places; place += 32u) {
    A sum = mine[place];
    if (lane.here) {
      output[long(place / uint(kLines)) * p.lines.output_step] = D::store(typename D::value(sum));
    }
  }
}
