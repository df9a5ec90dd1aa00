// selective_scan: S = e^(dt a) S + dt x b^T, y = S c + d x, row by row of a sequence. Text of the
// kernel dialect.
//
// A simdgroup has a row of the state of a head, kOwn elements of it in each lane, and walks the
// rows of its sequence; y is a sum over its lanes. A few rows are bound by the memory of the
// states, many by the time of a step.

#include "kernels/recurrent/sequences.metal"

// D is the dtype of the rows, G that of dt, a and d, S that of the states.
template <typename D, typename G, typename S, bool kSkip, int kOwn>
void selective_scan(device const typename D::memory* x, device const typename G::memory* dt,
                    device const typename G::memory* a, device const typename D::memory* b,
                    device const typename D::memory* c, device const typename G::memory* d,
                    device const typename S::memory* state, device const int* starts,
                    device typename D::memory* y, device typename S::memory* next,
                    constant SelectiveScanParams& p, Ctx ctx) {
  typedef typename D::value V;
  int begin = first_row(starts, p.batch, ctx), end = last_row(starts, p.batch, ctx);
  long place = long(ctx.tg.x) * long(ctx.nsg) + long(ctx.sg), head = long(ctx.tg.y);
  if (place >= p.p) return;
  if (long(ctx.tg.z) >= p.batch.sequences) {
    for (int row = int(ctx.lane); row < int(p.batch.rows); row += 32) {
      if (row < begin || row >= end) {
        y[(long(row) * p.heads + head) * p.p + place] = D::store(V(0.0f));
      }
    }
    return;
  }
  long group = head / p.group_heads, lane = long(ctx.lane);
  device const typename D::memory* input = x + (p.x_base + head * p.x_head + place * p.x_step);
  device const typename D::memory* inward = b + (p.b_base + group * p.b_group + lane * p.b_step);
  device const typename D::memory* outward = c + (p.c_base + group * p.c_group + lane * p.c_step);
  device const typename S::memory* old =
      state + (p.state_base + long(ctx.tg.z) * p.state_sequence + head * p.state_head +
               place * p.state_row + lane * p.state_step);
  V rate = V(G::load(a[p.a_base + head * p.a_head])), skip = V(0.0f);
  if (kSkip) skip = V(G::load(d[p.d_base + head * p.d_head]));
  V held[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    bool is_own = lane + long(32 * i) < p.n;
    held[i] = is_own ? V(S::load(old[long(32 * i) * p.state_step])) : V(0.0f);
  }
  for (int row = begin; row < end; ++row) {
    V time = V(G::load(dt[p.dt_base + long(row) * p.dt_row + head * p.dt_head]));
    V value = V(D::load(input[long(row) * p.x_row]));
    V decay = metal::exp(time * rate), weighted = time * value, sum = V(0.0f);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      bool is_own = lane + long(32 * i) < p.n;
      long at = long(32 * i);
      V in = is_own ? V(D::load(inward[long(row) * p.b_row + at * p.b_step])) : V(0.0f);
      V out = is_own ? V(D::load(outward[long(row) * p.c_row + at * p.c_step])) : V(0.0f);
      held[i] = metal::fma(weighted, in, decay * held[i]);
      sum = metal::fma(held[i], out, sum);
    }
    sum = simd_row_sum(sum, 32u);
    if (kSkip) sum = metal::fma(skip, value, sum);
    if (ctx.lane == 0u) y[(long(row) * p.heads + head) * p.p + place] = D::store(sum);
  }
  device typename S::memory* kept =
      next + (((long(ctx.tg.z) * p.heads + head) * p.p + place) * p.n + lane);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (lane + long(32 * i) < p.n) kept[32 * i] = S::store(held[i]);
  }
}
