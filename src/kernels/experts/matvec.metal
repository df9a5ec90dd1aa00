// expert_linear of few pairs of rows and experts: y[pair] = weight[expert] x[row] (+ bias[expert]).
// Text of the kernel dialect.
//
// A simdgroup makes an output of a pair: lanes take packets of 16 bytes of the weight's row and of
// x, kHold of them on the way. Bound by reading the weights of the experts that are chosen, once
// for each pair. Sums in f32 (f64 for f64), in an order that depends on extents only.

#include "kernels/blocks/rows.h"
#include "kernels/experts/groups.metal"

template <typename D, int kHold, bool kBias>
void expert_matvec(device const typename D::memory* x, device const typename D::memory* weight,
                   device const int* experts, device const typename D::memory* bias,
                   device typename D::memory* y, constant ExpertMatvecParams& p, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  long output = long(ctx.tg.x) * ctx.nsg + ctx.sg;
  if (output >= p.out) return;
  int length = int(p.in), step = 32 * kCount;
  for (long pair = long(ctx.tg.y); pair < p.pairs; pair += long(ctx.ntg.y)) {
    uint expert = expert_of(experts, uint(pair), p);
    if (long(expert) == p.experts) {
      if (ctx.lane == 0u) y[pair * p.out + output] = D::store(V(0));
      continue;
    }
    device const typename D::memory* weights =
        weight + (p.w_base + long(expert) * p.w_expert + output * p.w_row);
    device const typename D::memory* vector =
        x + (p.x_base + pair / p.used * p.x_row + pair % p.used * p.x_step);
    bool packed_x = InPacket<D>::shift(vector) == 0, packed_w = InPacket<D>::shift(weights) == 0;
    V sums[kHold];
#pragma unroll
    for (int u = 0; u < kHold; ++u) sums[u] = V(0);
    for (int at = int(ctx.lane) * kCount; at < length; at += kHold * step) {
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
    if (ctx.lane != 0u) continue;
    if (kBias) sum += D::load(bias[p.b_base + long(expert) * p.b_expert + output]);
    y[pair * p.out + output] = D::store(sum);
  }
}
