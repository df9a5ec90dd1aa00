// weighted_gather: y[b, c, p] = sum over t of weights[b, t, p] * x[b, c, indices[b, t, p]]. Text of
// the kernel dialect.
//
// A thread makes one point of kChannels channels: what it reads of indices and weights serves all
// of them, and its loads of x do not wait for each other. Bound by memory, by how near each other
// neighbouring points read.

#include "kernels/blocks/elements.h"
#include "kernels/weighted_gather/params.h"

template <typename D, typename W, typename X, typename I, int kChannels>
void weighted_gather(device const typename D::memory* x, device const X* indices,
                     device const typename W::memory* weights, device typename D::memory* y,
                     constant WeightedGatherParams& p, Ctx ctx) {
  typedef typename D::value V;
  I point = I(ctx.tg.x) * I(ctx.ntid.x) + I(ctx.tid.x);
  if (point >= I(p.points)) return;
  for (long layer = long(ctx.tg.y); layer < p.layers; layer += long(ctx.ntg.y)) {
    long batch = layer / p.chunks;
    I channel = I(layer - batch * p.chunks) * I(kChannels);
    I count = metal::min(I(kChannels), I(p.channels) - channel);
    device const typename D::memory* plane = x + (p.x_base + batch * p.x_batch);
    device const X* index = indices + (p.index_base + batch * p.index_batch);
    device const typename W::memory* weight = weights + (p.weight_base + batch * p.weight_batch);
    V sums[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) sums[c] = V(0.0f);
    I taps = p.extent > 0 ? I(p.taps) : 0;
    for (I tap = 0; tap < taps; tap += I(kTapsAtOnce)) {
      I from[kTapsAtOnce];
      V share[kTapsAtOnce];
      bool reads[kTapsAtOnce];
#pragma unroll
      for (int t = 0; t < kTapsAtOnce; ++t) {
        I at = metal::min(tap + I(t), I(p.taps) - 1);
        long element = long(index[at * I(p.index_tap) + point * I(p.index_step)]);
        reads[t] = tap + I(t) < I(p.taps) && element >= 0 && element < p.extent;
        from[t] = (reads[t] ? I(element) : I(0)) * I(p.x_step) + channel * I(p.x_channel);
        share[t] = V(W::load(weight[at * I(p.weight_tap) + point * I(p.weight_step)]));
      }
      // What is not there is read as something that is, and left out, so that no load is a branch.
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        I plane_at = metal::min(I(c), count - 1) * I(p.x_channel);
        V value[kTapsAtOnce];
#pragma unroll
        for (int t = 0; t < kTapsAtOnce; ++t) value[t] = D::load(plane[from[t] + plane_at]);
#pragma unroll
        for (int t = 0; t < kTapsAtOnce; ++t) {
          sums[c] += reads[t] ? share[t] * value[t] : V(0.0f);
        }
      }
    }
    I to = I(batch * p.channels) * I(p.points) + channel * I(p.points) + point;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      if (I(c) < count) y[to + I(c) * I(p.points)] = D::store(sums[c]);
    }
  }
}
