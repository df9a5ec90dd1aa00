// cdist: y[i, j] = (sum over k of |a[i, k] - b[j, k]|^p)^(1/p), or the largest of them. Text of the
// kernel dialect.
//
// A threadgroup of 16 x 16 threads makes 64 x 64 results, a thread 4 x 4 of them. Slices of 32
// columns (f64: 16) of both operands go through threadgroup memory, column by column, so that a
// thread reads its four rows at once. Bound by arithmetic: a difference and a multiplication with
// addition for each element, where a product has the latter alone. Differences are exact where
// points are near, which those of products are not. Sums of four slices are added to those before,
// so that errors grow slowly with the number of columns.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/cdist/params.h"
#include "kernels/formulas/formulas.h"

enum { kCdistTogether = 4 };

// Four values of threadgroup memory.
HEARTH_INLINE void load_four(thread float* to, threadgroup const float* from) {
  float4 all = *(threadgroup const float4*)from;
  to[0] = all.x;
  to[1] = all.y;
  to[2] = all.z;
  to[3] = all.w;
}
HEARTH_INLINE float cdist_power(long bits, float) { return as_type<float>(uint(bits)); }
#if HEARTH_HAS_F64
HEARTH_INLINE void load_four(thread double* to, threadgroup const double* from) {
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = from[i];
}
HEARTH_INLINE double cdist_power(long bits, double) { return as_type<double>(bits); }
#endif

template <typename V, int kSum>
HEARTH_INLINE V cdist_joined(V sum, V part) {
  if (kSum != kCdistLargest) return sum + part;
  return part > sum || part != part ? part : sum;
}

template <typename V, int kSum>
HEARTH_INLINE V cdist_with(V sum, V difference, V power) {
  if (kSum == kCdistSquares) return metal::fma(difference, difference, sum);
  V magnitude = formula::abs(difference);
  if (kSum == kCdistPowers) return sum + formula::pow(magnitude, power);
  return cdist_joined<V, kSum>(sum, magnitude);
}

template <typename V>
struct CdistSlice {
  enum { columns = sizeof(V) == 8 ? int(kCdistWideSlice) : int(kCdistSlice) };
};

// A slice of up to kCdistTile rows from `from` on, 0 beyond its ends.
template <typename D>
HEARTH_INLINE void load_slice(threadgroup typename D::value* to,
                              device const typename D::memory* from, long row_step,
                              long column_step, int rows, int length, Ctx ctx) {
  const int kColumns = int(CdistSlice<typename D::value>::columns);
  const int kRows = int(kCdistThreads) / kColumns;
  int column = int(ctx.tid.x) % kColumns, first = int(ctx.tid.x) / kColumns;
  from += long(column) * column_step + long(first) * row_step;
  to += column * int(kCdistPitch) + first;
  rows = column < length ? rows - first : 0;
#pragma unroll 4
  for (int row = 0; row < int(kCdistTile); row += kRows) {
    to[row] = row < rows ? D::load(*from) : typename D::value(0);
    from += row + kRows < rows ? long(kRows) * row_step : long(0);
  }
}

template <typename D, int kSum, int kRank>
void cdist(device const typename D::memory* a, device const typename D::memory* b,
           device typename D::memory* y, constant CdistParams<kRank>& p,
           threadgroup typename D::value* left, threadgroup typename D::value* right, Ctx ctx) {
  typedef typename D::value V;
  const long kSlice = long(CdistSlice<V>::columns);
  uint tile = ctx.tg.x;
  uint rest = tile / uint(p.tiles_across);
  long across = long(tile - rest * uint(p.tiles_across)) * kCdistTile;
  ulong batch = rest / uint(p.tiles_down);
  long down = long(rest - uint(batch) * uint(p.tiles_down)) * kCdistTile;
  device const typename D::memory* rows = a + offset_of<ulong, kRank>(batch, p.a) + down * p.a_row;
  device const typename D::memory* columns =
      b + offset_of<ulong, kRank>(batch, p.b) + across * p.b_row;
  V power = cdist_power(p.power, V(0));
  uint i0 = (ctx.tid.x >> 4u) * 4u, j0 = (ctx.tid.x & 15u) * 4u;
  V total[4][4], sums[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) total[i][j] = sums[i][j] = V(0);
  }
  int together = 0;
  int high = int(metal::min(p.rows - down, long(kCdistTile)));
  int wide = int(metal::min(p.columns - across, long(kCdistTile)));
  for (long left_over = p.length; left_over > 0; left_over -= kSlice) {
    int count = int(metal::min(left_over, kSlice));
    load_slice<D>(left, rows, p.a_row, p.a_column, high, count, ctx);
    load_slice<D>(right, columns, p.b_row, p.b_column, wide, count, ctx);
    rows += left_over > kSlice ? kSlice * p.a_column : long(0);
    columns += left_over > kSlice ? kSlice * p.b_column : long(0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll 4
    for (int k = 0; k < count; ++k) {
      V x[4], z[4];
      load_four(x, left + uint(k) * uint(kCdistPitch) + i0);
      load_four(z, right + uint(k) * uint(kCdistPitch) + j0);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          sums[i][j] = cdist_with<V, kSum>(sums[i][j], x[i] - z[j], power);
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    together += 1;
    if (together < int(kCdistTogether) && left_over > kSlice) continue;
    together = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        total[i][j] = cdist_joined<V, kSum>(total[i][j], sums[i][j]);
        sums[i][j] = V(0);
      }
    }
  }
  device typename D::memory* to = y + long(batch) * p.rows * p.columns;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    long row = down + long(i0) + i;
    if (row >= p.rows) continue;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      long column = across + long(j0) + j;
      V sum = total[i][j];
      V norm = kSum == kCdistSquares  ? formula::sqrt(sum)
               : kSum == kCdistPowers ? formula::pow(sum, V(1) / power)
                                      : sum;
      if (column < p.columns) to[row * p.columns + column] = D::store(norm);
    }
  }
}
