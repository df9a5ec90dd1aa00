// The ops of softmax.h along an axis that is not the last one. Text of the kernel dialect.
//
// A column is what one maximum is taken over. A threadgroup takes 32 columns that lie side by side,
// a lane each; its simdgroups, up to 32 where columns are few, take elements of them in turn. Both
// passes read whole lines of memory, kColumnLoads at a time; the second one comes partly out of the
// cache. Bound by memory. Numerics are those of softmax.h.

#include "kernels/softmax/params.h"
#include "kernels/softmax/softmax.metal"

enum { kColumnLoads = 8, kGradientLoads = 4 };

// Over the values of each lane; `shared` has an element for each thread.
template <typename V>
HEARTH_INLINE V column_sum(V value, threadgroup V* shared, Ctx ctx) {
  shared[ctx.tid.x] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  V sum = V(0);
  for (uint i = 0; i < ctx.nsg; ++i) sum += shared[32u * i + ctx.lane];
  return sum;
}
template <typename V>
HEARTH_INLINE V column_max(V value, threadgroup V* shared, Ctx ctx) {
  shared[ctx.tid.x] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  V top = shared[ctx.lane];
  for (uint i = 1; i < ctx.nsg; ++i) top = metal::max(top, shared[32u * i + ctx.lane]);
  return top;
}

// kForm: 0 softmax, 1 log_softmax, 2 logsumexp.
template <typename D, int kForm, int kRank>
void softmax_columns(device const typename D::memory* x, device typename D::memory* y,
                     constant ColumnParams<kRank>& p, threadgroup typename D::value* tops,
                     threadgroup typename D::value* sums, Ctx ctx) {
  typedef typename D::value V;
  ulong column = ulong(ctx.tg.x) * 32u + ctx.lane;
  bool inside = column < ulong(p.columns);
  device const typename D::memory* from = x + offset_of<ulong, kRank>(inside ? column : 0ul, p.x);
  long length = inside ? p.length : 0;
  V top = Lowest<V>::value();
  LongSum<V> sum;
  sum.clear();
  long turn = long(ctx.nsg);
  for (long first = ctx.sg; first < length; first += turn * kColumnLoads) {
    V values[kColumnLoads];
#pragma unroll
    for (int u = 0; u < kColumnLoads; ++u) {
      long i = first + turn * u;
      values[u] = i < length ? D::load(from[i * p.x_step]) : Lowest<V>::infinite();
    }
    V next = top;
#pragma unroll
    for (int u = 0; u < kColumnLoads; ++u) next = metal::max(next, values[u]);
    if (kForm == 2) next = metal::min(next, -Lowest<V>::value());
    V part = V(0);
#pragma unroll
    for (int u = 0; u < kColumnLoads; ++u) part += e_to(values[u] - next);
    sum.scale(e_to(top - next));
    sum.add(part);
    top = next;
  }
  V all_top = column_max(top, tops, ctx);
  V all_sum = column_sum(sum.value() * e_to(top - all_top), sums, ctx);
  if (kForm == 2) {
    if (inside && ctx.sg == 0u) y[column] = D::store(all_top + metal::log(all_sum));
    return;
  }
  V factor = kForm == 1 ? metal::log(all_sum) : V(1) / all_sum;
  long outer = long(column / ulong(p.inner));
  device typename D::memory* to =
      y + (outer * p.length * p.inner + (long(column) - outer * p.inner));
  for (long first = ctx.sg; first < length; first += turn * kColumnLoads) {
    V values[kColumnLoads];
#pragma unroll
    for (int u = 0; u < kColumnLoads; ++u) {
      long i = first + turn * u;
      values[u] = i < length ? D::load(from[i * p.x_step]) - all_top : V(0);
    }
#pragma unroll
    for (int u = 0; u < kColumnLoads; ++u) {
      long i = first + turn * u;
      V value = kForm == 1 ? values[u] - factor : e_to(values[u]) * factor;
      if (i < length) to[i * p.inner] = D::store(value);
    }
  }
}

template <typename D, bool kLog, int kRank>
void softmax_backward_columns(device const typename D::memory* g,
                              device const typename D::memory* y, device typename D::memory* dx,
                              constant ColumnParams<kRank>& p, threadgroup typename D::value* sums,
                              Ctx ctx) {
  typedef typename D::value V;
  ulong column = ulong(ctx.tg.x) * 32u + ctx.lane;
  bool inside = column < ulong(p.columns);
  device const typename D::memory* grads = g + offset_of<ulong, kRank>(inside ? column : 0ul, p.g);
  device const typename D::memory* from = y + offset_of<ulong, kRank>(inside ? column : 0ul, p.x);
  long length = inside ? p.length : 0;
  LongSum<V> parts;
  parts.clear();
  long turn = long(ctx.nsg);
  for (long first = ctx.sg; first < length; first += turn * kGradientLoads) {
    V part = V(0);
#pragma unroll
    for (int u = 0; u < kGradientLoads; ++u) {
      long i = first + turn * u;
      if (i >= length) continue;
      V grad = D::load(grads[i * p.g_step]);
      part = kLog ? part + grad : metal::fma(grad, D::load(from[i * p.x_step]), part);
    }
    parts.add(part);
  }
  V sum = column_sum(parts.value(), sums, ctx);
  long outer = long(column / ulong(p.inner));
  device typename D::memory* to =
      dx + (outer * p.length * p.inner + (long(column) - outer * p.inner));
#pragma unroll 4
  for (long i = ctx.sg; i < length; i += turn) {
    V grad = D::load(grads[i * p.g_step]), result = D::load(from[i * p.x_step]);
    to[i * p.inner] = D::store(kLog ? grad - e_to(result) * sum : result * (grad - sum));
  }
}
