// y = W x (+ added) for a matrix whose rows lie element by element, batched. Text of the kernel
// dialect.
//
// y and added [batch, rows] dense; W [batch, rows, length], rows row_step apart; x [batch, length].
// A row belongs to p.split simdgroups, a power of two that divides the simdgroups of a threadgroup:
// they share its packets of 16 bytes out between them. A thread has kHold of them on the way before
// it uses the first. Bound by reading W; x comes out of the nearest cache. Sums in f32 (f64 for
// f64), one for each packet in hand, in an order that depends on extents only.

#include "kernels/blocks/rows.h"
#include "kernels/matmul/params.h"

template <typename D, int kHold, bool kAdded>
void matvec(device const typename D::memory* w, device const typename D::memory* x,
            device const typename D::memory* added, device typename D::memory* y,
            constant MatvecParams& p, threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  uint split = uint(p.split);
  long row = long(ctx.tg.x * (ctx.nsg / split) + ctx.sg / split);
  bool inside = row < p.rows;
  int length = inside ? int(p.length) : 0;
  int begin = int((ctx.sg & (split - 1u)) * 32u + ctx.lane) * kCount;
  int step = int(split) * 32 * kCount;
  for (long batch = long(ctx.tg.y); batch < p.batches; batch += long(ctx.ntg.y)) {
    device const typename D::memory* vector = x + batch * p.x_step;
    device const typename D::memory* weights =
        w + batch * p.w_step + (inside ? row : 0) * p.row_step;
    bool packed_x = InPacket<D>::shift(vector) == 0, packed_w = InPacket<D>::shift(weights) == 0;
    V sums[kHold];
#pragma unroll
    for (int u = 0; u < kHold; ++u) sums[u] = V(0);
    for (int at = begin; at < length; at += kHold * step) {
      Packet<16> held[kHold];
      Packet<16> factors[kHold];
      load_row<D, kHold>(held, weights, at, step, length, packed_w, V(0));
      load_row<D, kHold>(factors, vector, at, step, length, packed_x, V(0));
#pragma unroll
      for (int u = 0; u < kHold; ++u) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          sums[u] = metal::fma(D::get(held[u].word, i), D::get(factors[u].word, i), sums[u]);
        }
      }
    }
#pragma unroll
    for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
    V sum = simd_row_sum(sums[0], 32u);
    if (split == 1u) {
      if (ctx.lane == 0u && inside) {
        if (kAdded) sum += D::load(added[batch * p.rows + row]);
        y[batch * p.rows + row] = D::store(sum);
      }
      continue;
    }
    if (ctx.lane == 0u) shared[ctx.sg] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if ((ctx.sg & (split - 1u)) == 0u && ctx.lane == 0u && inside) {
      for (uint part = 1u; part < split; ++part) sum += shared[ctx.sg + part];
      if (kAdded) sum += D::load(added[batch * p.rows + row]);
      y[batch * p.rows + row] = D::store(sum);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
