// causal_conv: y[t] = bias + sum over k of weight[:, k] x[t - taps + 1 + k] within a sequence,
// whose state has the rows before its first. Text of the kernel dialect.
//
// A thread has a channel of a sequence and every ntg.y-th of its rows; those of the first one also
// write the new state. Neighbouring threads read neighbouring channels; rows that several taps read
// come from the cache. Bound by memory.

#include "kernels/recurrent/sequences.metal"

// D is the dtype of x and y, W that of the weights, S that of the states.
template <typename D, typename W, typename S, bool kBias>
void causal_conv(device const typename D::memory* x, device const typename W::memory* weight,
                 device const typename W::memory* bias, device const typename S::memory* state,
                 device const int* starts, device typename D::memory* y,
                 device typename S::memory* next, constant CausalConvParams& p, Ctx ctx) {
  typedef typename D::value V;
  int begin = first_row(starts, p.batch, ctx), end = last_row(starts, p.batch, ctx);
  long channel = long(ctx.gid.x);
  if (channel >= p.channels) return;
  if (long(ctx.tg.z) >= p.batch.sequences) {
    for (int row = int(ctx.tg.y); row < int(p.batch.rows); row += int(ctx.ntg.y)) {
      if (row < begin || row >= end) y[long(row) * p.channels + channel] = D::store(V(0.0f));
    }
    return;
  }
  device const typename D::memory* rows = x + (p.x_base + channel * p.x_channel);
  device const typename W::memory* factors = weight + (p.weight_base + channel * p.weight_channel);
  device const typename S::memory* old =
      state + (p.state_base + long(ctx.tg.z) * p.state_sequence + channel * p.state_channel);
  int held = int(p.taps) - 1;
  V start = V(0.0f);
  if (kBias) start = V(W::load(bias[p.bias_base + channel * p.bias_step]));
  for (int row = begin + int(ctx.tg.y); row < end; row += int(ctx.ntg.y)) {
    V sum = start;
    for (int k = 0; k <= held; ++k) {
      int from = row - held + k;
      V value = from >= begin ? V(D::load(rows[long(from) * p.x_row]))
                              : V(S::load(old[long(held + from - begin) * p.state_row]));
      sum = metal::fma(V(W::load(factors[long(k) * p.weight_tap])), value, sum);
    }
    y[long(row) * p.channels + channel] = D::store(sum);
  }
  if (ctx.tg.y > 0u) return;
  device typename S::memory* kept = next + (long(ctx.tg.z) * long(held) * p.channels + channel);
  for (int i = 0; i < held; ++i) {
    int from = end - held + i;
    V value = from >= begin ? V(D::load(rows[long(from) * p.x_row]))
                            : V(S::load(old[long(held + from - begin) * p.state_row]));
    kept[long(i) * p.channels] = S::store(value);
  }
}
