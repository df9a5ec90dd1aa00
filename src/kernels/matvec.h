// y = W x for a matrix whose rows lie element by element, batched. Text of the kernel dialect.
//
// y [batch, rows] dense; W [batch, rows, length], rows row_step apart; x [batch, length].
// kRows rows belong to a unit of p.split simdgroups, a power of two that divides the simdgroups of a
// threadgroup: they share the rows' packets of 16 bytes out between them. A thread has kHold packets
// of each row on the way before it uses the first; x is read once for all rows of the unit, mostly
// out of the cache. Bound by reading W.
// Sums in f32 (f64 for f64), one for each packet in hand, in an order that depends on extents only.

#include "kernels/rows.h"

struct MatvecParams {
  long batches, rows, length;
  long row_step;
  long split;
  long w_step, x_step;  // of the batch
};

template <typename D, int kRows, int kHold>
void matvec(device const typename D::memory* w, device const typename D::memory* x,
            device typename D::memory* y, constant MatvecParams& p,
            threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  uint split = uint(p.split);
  uint unit = ctx.tg.x * (ctx.nsg / split) + ctx.sg / split;
  long first_row = long(unit) * kRows;
  int length = first_row < p.rows ? int(p.length) : 0;
  int begin = int((ctx.sg & (split - 1u)) * 32u + ctx.lane) * kCount;
  int step = int(split) * 32 * kCount;
  for (long batch = long(ctx.tg.y); batch < p.batches; batch += long(ctx.ntg.y)) {
    device const typename D::memory* vector = x + batch * p.x_step;
    device const typename D::memory* row[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      // A unit at the end reads its last row again.
      long at = metal::min(first_row + r, p.rows - 1);
      row[r] = w + batch * p.w_step + at * p.row_step;
    }
    bool packed_x = InPacket<D>::shift(vector) == 0, packed_w = InPacket<D>::shift(row[0]) == 0;
    V sums[kRows][kHold];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int u = 0; u < kHold; ++u) sums[r][u] = V(0);
    }
    for (int at = begin; at < length; at += kHold * step) {
      Packet<16> weights[kRows][kHold];
      Packet<16> factors[kHold];
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        load_row<D, kHold>(weights[r], row[r], at, step, length, packed_w, V(0));
      }
      load_row<D, kHold>(factors, vector, at, step, length, packed_x, V(0));
#pragma unroll
      for (int u = 0; u < kHold; ++u) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          V factor = D::get(factors[u].word, i);
#pragma unroll
          for (int r = 0; r < kRows; ++r) {
            sums[r][u] = metal::fma(D::get(weights[r][u].word, i), factor, sums[r][u]);
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int u = 1; u < kHold; ++u) sums[r][0] += sums[r][u];
      V sum = simd_row_sum(sums[r][0], 32u);
      if (ctx.lane == 0u) shared[ctx.sg * uint(kRows) + uint(r)] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint mine = ctx.lane;
    if ((ctx.sg & (split - 1u)) == 0u && mine < uint(kRows) && first_row + mine < p.rows) {
      V sum = shared[ctx.sg * uint(kRows) + mine];
      for (uint part = 1u; part < split; ++part) {
        sum += shared[(ctx.sg + part) * uint(kRows) + mine];
      }
      y[batch * p.rows + first_row + mine] = D::store(sum);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
