// gated_delta_rule: S = e^g S, S += k (beta (v - S^T k))^T, y = S^T q, row by row of a sequence.
// Text of the kernel dialect.
//
// A threadgroup has 32 columns of the state of a head, a lane each, and walks the rows of its
// sequence. Each simdgroup keeps kOwn rows of the state in registers. S^T k and S^T q of the state
// before a row are summed over simdgroups together, by one exchange, since
//
//   y = e^g S^T q + (k . q) delta,   delta = beta (v - e^g S^T k)
//
// A few rows are bound by the memory of the states, many by the time of a step.

#include "kernels/recurrent/sequences.metal"

// D is the dtype of the rows, G that of g and beta, S that of the states. `shared` has, of two
// steps in turn, 96 elements for each simdgroup.
template <typename D, typename G, typename S, int kOwn>
void delta_rule(device const typename D::memory* q, device const typename D::memory* k,
                device const typename D::memory* v, device const typename G::memory* g,
                device const typename G::memory* beta, device const typename S::memory* state,
                device const int* starts, device typename D::memory* y,
                device typename S::memory* next, constant DeltaRuleParams& p,
                threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  int begin = first_row(starts, p.batch, ctx), end = last_row(starts, p.batch, ctx);
  long column = long(ctx.tg.x) * 32 + long(ctx.lane), head = long(ctx.tg.y);
  bool inside = column < p.dv;
  if (long(ctx.tg.z) >= p.batch.sequences) {
    for (int row = int(ctx.sg); row < int(p.batch.rows); row += int(ctx.nsg)) {
      if (inside && (row < begin || row >= end)) {
        y[(long(row) * p.heads + head) * p.dv + column] = D::store(V(0.0f));
      }
    }
    return;
  }
  long from_head = p.tiled != 0 ? head % p.k_heads : head / p.k_heads;
  long first = long(ctx.sg) * long(kOwn);
  long own = p.dk - first;  // rows of the state, those beyond kOwn are of other simdgroups
  device const typename D::memory* query = q + (p.q_base + from_head * p.q_head + first * p.q_step);
  device const typename D::memory* key = k + (p.k_base + from_head * p.k_head + first * p.k_step);
  device const typename D::memory* value =
      v + (p.v_base + head * p.v_head + (inside ? column * p.v_step : 0));
  device const typename S::memory* old =
      state + (p.state_base + long(ctx.tg.z) * p.state_sequence + head * p.state_head +
               first * p.state_row + column * p.state_step);
  V held[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    held[i] = inside && long(i) < own ? V(S::load(old[long(i) * p.state_row])) : V(0.0f);
  }
  threadgroup V* sums = shared;
  threadgroup V* other = shared + ctx.nsg * 96u;
  for (int row = begin; row < end; ++row) {
    V keys[kOwn];
    V of_key = V(0.0f), of_query = V(0.0f), met = V(0.0f);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      bool is_own = long(i) < own;
      V query_at = is_own ? V(D::load(query[long(row) * p.q_row + long(i) * p.q_step])) : V(0.0f);
      keys[i] = is_own ? V(D::load(key[long(row) * p.k_row + long(i) * p.k_step])) : V(0.0f);
      of_key = metal::fma(keys[i], held[i], of_key);
      of_query = metal::fma(query_at, held[i], of_query);
      met = metal::fma(keys[i], query_at, met);
    }
    threadgroup V* mine = sums + (ctx.sg * 96u + ctx.lane);
    mine[0] = of_key;
    mine[32] = of_query;
    mine[64] = met;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    of_key = of_query = met = V(0.0f);
    for (uint i = 0u; i < ctx.nsg; ++i) {
      threadgroup V* part = sums + (i * 96u + ctx.lane);
      of_key += part[0];
      of_query += part[32];
      met += part[64];
    }
    V decay = metal::exp(V(G::load(g[p.g_base + long(row) * p.g_row + head * p.g_head])));
    V rate = V(G::load(beta[p.beta_base + long(row) * p.beta_row + head * p.beta_head]));
    V taken = inside ? V(D::load(value[long(row) * p.v_row])) : V(0.0f);
    V delta = rate * metal::fma(-decay, of_key, taken);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) held[i] = metal::fma(keys[i], delta, decay * held[i]);
    if (inside && ctx.sg == 0u) {
      y[(long(row) * p.heads + head) * p.dv + column] =
          D::store(metal::fma(met, delta, decay * of_query));
    }
    threadgroup V* last = sums;
    sums = other;
    other = last;
  }
  device typename S::memory* kept =
      next + (((long(ctx.tg.z) * p.heads + head) * p.dk + first) * p.dv + column);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (inside && long(i) < own) kept[long(i) * p.dv] = S::store(held[i]);
  }
}
