// scatter and scatter_add of single elements where lines along the axis are many, or short enough.
// Text of the kernel dialect.
//
//   y[index] = y[index] updated by value for the elements of a line, in their order
//
// A threadgroup keeps the sums of some destinations of kLines neighbouring lines; lines that are
// not contiguous come several at a time, so that memory is read in whole sectors. Each simdgroup
// owns a share of one line's destinations. Indices are staged for all, and each simdgroup walks
// them in order, keeps those of its share waiting, and takes 32 at a time: lanes of equal
// destinations find each other bit by bit and take turns, lowest first. So every sum has the order
// of its elements, is kept in A and rounded once, as one thread would, whatever the schedule.
// Indices are read once for each range of destinations; the line is read and written once. Bound by
// memory, and by instructions where a line has many ranges. Indices outside the axis are dropped.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/indexing/ordered_warp_update.metal"
#include "kernels/indexing/params.h"

constexpr constant uint kShareThreads = 256u;
constexpr constant uint kShareSimdgroups = 8u;
constexpr constant uint kStaged = 2048u;
constexpr constant int kStagedEach = 8;  // by a thread
// Elements between the staged positions of two lines: neighbours are in other banks.
constexpr constant uint kStagedGap = 8u;
constexpr constant uint kWaiting = 64u;
constexpr constant uint kElsewhere = 0xffffu;

// Updates their sums by `count` waiting elements.
template <typename D, typename A, typename R>
inline void take_waiting(device const typename D::memory* values, long step,
                         threadgroup const uint* waiting, uint count, threadgroup A* sums,
                         uint pitch, Ctx ctx) {
  bool here = ctx.lane < count;
  uint entry = here ? waiting[ctx.lane] : 0u;
  uint place = entry >> 16;
  A value = A(0);
  if (here) value = A(D::load(values[long(entry & 0xffffu) * step]));
  update_in_turn<R>(here, place, value, sums, pitch, ctx);
}

template <typename D, typename A, typename R, typename X, int kLines, int kRank>
void scatter_privatized(device const X* indices, device const typename D::memory* values,
                        device typename D::memory* output, constant ShareParams<kRank>& p,
                        threadgroup A* sums, threadgroup ushort* staged, threadgroup uint* waiting,
                        Ctx ctx) {
  const uint kTile = kStaged / uint(kLines);
  const uint kPitch = kTile + kStagedGap;
  const uint kShares = kShareSimdgroups / uint(kLines);  // of a line
  const uint kColumn = kShareThreads / uint(kLines);     // threads of a line
  // Loads and stores: a thread has one line, neighbouring threads neighbouring lines.
  uint line = ctx.tid.x % uint(kLines);
  uint row = ctx.tid.x / uint(kLines);
  ulong lines = ulong(ctx.tg.x) * uint(kLines);
  bool here = lines + line < ulong(p.lines.count);
  uint at = uint(here ? lines + line : lines);
  uint range = uint(p.share) * kShares;
  ulong first = ulong(ctx.tg.y) * range;
  uint places = uint(metal::min(ulong(range), ulong(p.lines.extent) - first));
  indices += offset_of<uint, kRank>(at, p.lines.indices);
  output += offset_of<uint, kRank>(at, p.lines.output) + long(first) * p.lines.output_step;
#pragma unroll 4
  for (uint place = row; place < places; place += kColumn) {
    A sum = A(0);
    if (here) sum = A(D::load(output[long(place) * p.lines.output_step]));
    sums[place * uint(kLines) + line] = sum;
  }

  // Sums: a simdgroup has one line.
  uint own = ctx.sg / kShares;
  uint low = (ctx.sg % kShares) * uint(p.share);
  values += offset_of<uint, kRank>(uint(lines + own < ulong(p.lines.count) ? lines + own : lines),
                                   p.lines.values);
  threadgroup A* mine = sums + low * uint(kLines) + own;
  threadgroup uint* queue = waiting + ctx.sg * kWaiting;
  for (ulong tile = 0; tile < ulong(p.lines.length); tile += kTile) {
    uint length = uint(metal::min(ulong(kTile), ulong(p.lines.length) - tile));
    uint staging[kStagedEach];
#pragma unroll
    for (int u = 0; u < kStagedEach; ++u) {
      uint i = row + uint(u) * kColumn;
      staging[u] = kElsewhere;
      if (here && i < length) {
        ulong index = ulong(long(indices[long(tile + i) * p.lines.index_step]));
        if (index < ulong(p.lines.extent) && index - first < places)
          staging[u] = uint(index - first);
      }
    }
#pragma unroll
    for (int u = 0; u < kStagedEach; ++u) {
      staged[line * kPitch + row + uint(u) * kColumn] = ushort(staging[u]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    device const typename D::memory* tile_values = values + long(tile) * p.lines.value_step;
    uint count = 0u;
    for (uint begin = 0u; begin < length; begin += 32u) {
      uint i = begin + ctx.lane;
      uint place = uint(staged[own * kPitch + i]) - low;
      bool taken = place < uint(p.share);
      uint lanes = ballot(taken);
      if (taken) queue[count + popcount(lanes & ((1u << ctx.lane) - 1u))] = (place << 16) | i;
      count += popcount(lanes);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      if (count >= 32u) {
        take_waiting<D, A, R>(tile_values, p.lines.value_step, queue, 32u, mine, uint(kLines), ctx);
        count -= 32u;
        if (ctx.lane < count) queue[ctx.lane] = queue[32u + ctx.lane];
        simdgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
    if (count > 0u) {
      take_waiting<D, A, R>(tile_values, p.lines.value_step, queue, count, mine, uint(kLines), ctx);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
#pragma unroll 4
  for (uint place = row; place < places; place += kColumn) {
    A sum = sums[place * uint(kLines) + line];
    if (here) output[long(place) * p.lines.output_step] = D::store(typename D::value(sum));
  }
}
