// Rows brought to where their indices say: scatter, scatter_add, select_assign and select_add. Text
// of the kernel dialect.
//
// Indices are sorted first, stably (radix_sort.h), so that the rows of one destination follow each
// other in the order of their indices: a segment. A thread walks kBlock neighbours in that order,
// in one vector of columns, and combines what belongs together by a rule R, the result being called
// a sum; a segment that lies in one block goes straight to the output, parts of longer ones to
// `pieces`, and a second launch combines those in order. Results are the same in every run, and
// each output row is read and written once. Bound by memory: kAhead rows and output rows are in
// flight at a time.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/indexing/params.h"
#include "kernels/indexing/updates.metal"

// An index outside its axis becomes the key `destinations`, larger than all others.
template <typename X>
void selection_keys(device const X* indices, device uint* keys, device uint* rows,
                    constant SelectionParams& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count)) return;
  ulong index = ulong(long(indices[p.base + long(i) * p.stride]));
  keys[i] = index < ulong(p.destinations) ? uint(index) : uint(p.destinations);
  rows[i] = uint(i);
}

// For indices of one element each: keys are elements of the output, rows elements of the values.
// Elements are numbered line by line, a line along the axis.
template <typename X, int kRank>
void element_keys(device const X* indices, device uint* keys, device uint* rows,
                  constant ElementParams<kRank>& p, Ctx ctx) {
  ulong i = ctx.gid.x;
  if (i >= ulong(p.count)) return;
  uint line = uint(i) / uint(p.lines.length);
  long at = long(uint(i) - line * uint(p.lines.length));
  ulong index =
      ulong(long(indices[offset_of<uint, kRank>(line, p.lines.indices) + at * p.lines.index_step]));
  long output = offset_of<uint, kRank>(line, p.lines.output) + long(index) * p.lines.output_step;
  keys[i] = index < ulong(p.lines.extent) ? uint(output) : uint(p.destinations);
  rows[i] = uint(offset_of<uint, kRank>(line, p.lines.values) + at * p.lines.value_step);
}

constexpr constant uint kBlock = 32u;
constexpr constant int kAhead = 4;

struct Walk {
  uint column, block, outer;  // the column in vectors
};
inline Walk walk_of(uint i, constant SumParams& p) {
  Walk walk;
  uint rest = i / uint(p.vectors);
  walk.column = i - rest * uint(p.vectors);
  walk.outer = rest / uint(p.blocks);
  walk.block = rest - walk.outer * uint(p.blocks);
  return walk;
}
// Of a block's part of a segment that began before it (0), or that goes on after it (1).
template <int kWidth>
inline ulong piece_at(Walk walk, uint block, uint piece, constant SumParams& p) {
  ulong row = (ulong(walk.outer) * ulong(p.blocks) + block) * 2u + piece;
  return (row * ulong(p.vectors) + walk.column) * uint(kWidth);
}

// A row's vector of dtype D, and sums of it in A.
template <typename D, typename A, typename R, int kWidth>
struct RowSums {
  typedef Packet<kWidth* int(sizeof(typename D::memory))> Row;
  A sum[kWidth];

  HEARTH_INLINE void clear() {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = R::template none<A>();
  }
  HEARTH_INLINE void add(Row row) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = R::combine(sum[i], A(D::get(row.word, i)));
  }
  HEARTH_INLINE void add_piece(device const A* piece) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = R::combine(sum[i], A(piece[i]));
  }
  HEARTH_INLINE void write_piece(device A* piece) const {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) piece[i] = sum[i];
  }
  HEARTH_INLINE void write(device typename D::memory* to) const {
    Row row;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) D::put(row.word, i, typename D::value(sum[i]));
    row.write(to);
  }
};

template <typename D, typename A, typename R, int kWidth>
void segmented_sum(device const uint* keys, device const uint* rows,
                   device const typename D::memory* values, device typename D::memory* output,
                   device A* pieces, constant SumParams& p, Ctx ctx) {
  typedef RowSums<D, A, R, kWidth> Sums;
  if (ulong(ctx.gid.x) >= ulong(p.threads)) return;
  Walk walk = walk_of(ctx.gid.x, p);
  ulong row = ulong(p.vectors) * uint(kWidth);
  values += long(walk.outer) * p.value_outer + long(walk.column) * kWidth;
  output += long(walk.outer) * p.output_outer + long(walk.column) * kWidth;
  pieces += piece_at<kWidth>(walk, walk.block, 0u, p);
  uint first = walk.block * kBlock;
  uint end = metal::min(first + kBlock, uint(p.count));
  uint before = first > 0u ? keys[first - 1u] : ~0u;
  bool carried = keys[first] == before;  // from the block before
  bool ended = true;
  Sums sums;
  sums.clear();
  for (uint slot = first; slot < end; slot += uint(kAhead)) {
    uint key[kAhead + 1];
#pragma unroll
    for (int u = 0; u <= kAhead; ++u) {
      uint at = slot + uint(u);
      key[u] = at < uint(p.count) ? keys[at] : ~0u;
    }
    typename Sums::Row in[kAhead], old[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (slot + uint(u) < end && key[u] < uint(p.destinations)) {
        in[u] = Sums::Row::read(values + ulong(rows[slot + uint(u)]) * row);
        if (key[u] != (u > 0 ? key[u - 1] : before)) {
          old[u] = Sums::Row::read(output + ulong(key[u]) * row);
        }
      }
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (slot + uint(u) < end && key[u] < uint(p.destinations)) {
        if (key[u] != (u > 0 ? key[u - 1] : before)) {
          sums.clear();
          sums.add(old[u]);
        }
        sums.add(in[u]);
        ended = key[u] != key[u + 1];
        if (ended && carried) sums.write_piece(pieces);
        if (ended && !carried) sums.write(output + ulong(key[u]) * row);
        carried = carried && !ended;
      }
    }
    before = key[kAhead - 1];
  }
  if (!ended) {
    sums.write_piece(carried ? pieces : pieces + row);
  }
}

// Combines the parts of the segment that begins in a block and goes on after it.
template <typename D, typename A, typename R, int kWidth>
void scatter_pieces(device const uint* keys, device const A* pieces,
                    device typename D::memory* output, constant SumParams& p, Ctx ctx) {
  if (ulong(ctx.gid.x) >= ulong(p.threads)) return;
  Walk walk = walk_of(ctx.gid.x, p);
  uint first = walk.block * kBlock;
  uint next = first + kBlock;
  if (next >= uint(p.count)) return;
  uint key = keys[next];
  if (keys[next - 1u] != key || key >= uint(p.destinations)) return;
  if (first > 0u && keys[first - 1u] == key) return;
  RowSums<D, A, R, kWidth> sums;
  sums.clear();
  sums.add_piece(pieces + piece_at<kWidth>(walk, walk.block, 1u, p));
  for (uint block = walk.block + 1u; next < uint(p.count) && keys[next] == key; ++block) {
    sums.add_piece(pieces + piece_at<kWidth>(walk, block, 0u, p));
    next += kBlock;
  }
  sums.write(output + long(walk.outer) * p.output_outer +
             (long(key) * long(p.vectors) + long(walk.column)) * kWidth);
}
