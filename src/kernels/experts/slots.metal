// expert_linear of many pairs of rows and experts, each with the bits that expert_matvec() gives
// it. Text of the kernel dialect.
//
// Pairs are in the order of their experts (groups.metal). A simdgroup makes an output of the pairs
// of a slot, up to kPairs at a time: what it loads of the weight's row is multiplied by the same
// lane's packets of each of their rows, in sums of their own. So the order of a pair's sums is that
// of expert_matvec() with the same kHold. Bound by the nearest cache, from which x comes.

#include "kernels/blocks/rows.h"
#include "kernels/experts/groups.metal"

template <typename D, int kHold, int kPairs, bool kBias>
void expert_slots(device const typename D::memory* x, device const typename D::memory* weight,
                  device const int* pairs, device const int* slots,
                  device const typename D::memory* bias, device typename D::memory* y,
                  constant ExpertTileParams& p, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  long output = long(ctx.tg.x) * ctx.nsg + ctx.sg;
  if (output >= p.out) return;
  int length = int(p.in), step = 32 * kCount;
  for (long slot = long(ctx.tg.y); slot < p.slots; slot += long(ctx.ntg.y)) {
    long expert = long(slots[3 * slot]);
    device const int* own = pairs + slots[3 * slot + 1];
    int count = slots[3 * slot + 2];
    if (expert == p.experts) {
      for (int i = int(ctx.lane); i < count; i += 32) {
        y[long(own[i]) * p.out + output] = D::store(V(0));
      }
      continue;
    }
    device const typename D::memory* weights =
        weight + (p.w_base + expert * p.w_expert + output * p.w_row);
    bool packed_w = InPacket<D>::shift(weights) == 0;
    for (int first = 0; first < count; first += kPairs) {
      // Pairs that are not there are the last one, and not stored.
      device const typename D::memory* vectors[kPairs];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        long pair = long(own[metal::min(first + j, count - 1)]);
        vectors[j] = x + (p.x_base + pair / p.used * p.x_row + pair % p.used * p.x_step);
      }
      V sums[kPairs][kHold];
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
#pragma unroll
        for (int u = 0; u < kHold; ++u) sums[j][u] = V(0);
      }
      for (int at = int(ctx.lane) * kCount; at < length; at += kHold * step) {
        Packet<16> held[kHold];
        load_row<D, kHold>(held, weights, at, step, length, packed_w, V(0));
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          Packet<16> factors[kHold];
          load_row<D, kHold>(factors, vectors[j], at, step, length,
                             InPacket<D>::shift(vectors[j]) == 0, V(0));
#pragma unroll
          for (int u = 0; u < kHold; ++u) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
              sums[j][u] =
                  metal::fma(D::get(held[u].word, i), D::get(factors[u].word, i), sums[j][u]);
            }
          }
        }
      }
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
#pragma unroll
        for (int u = 1; u < kHold; ++u) sums[j][0] += sums[j][u];
        V sum = simd_row_sum(sums[j][0], 32u);
        if (ctx.lane != 0u || first + j >= count) continue;
        if (kBias) sum += D::load(bias[p.b_base + expert * p.b_expert + output * p.b_column]);
        y[long(own[first + j]) * p.out + output] = D::store(sum);
      }
    }
  }
}
