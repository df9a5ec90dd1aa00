// causal_softmax: softmax(scale x) over rows of scores, where a row of each matrix sees keys up
// to its own in causal order, aligned at the last of both. Text of the kernel dialect.
//
// As softmax_rows of softmax.h for rows that fit into registers. Keys that a row does not see are
// not read, and get 0. Bound by memory.

#include "kernels/blocks/number.h"
#include "kernels/softmax/params.h"
#include "kernels/softmax/softmax.metal"

template <typename D, int kHold, int kRank>
void causal_softmax(device const typename D::memory* x, device typename D::memory* y,
                    constant CausalSoftmaxParams<kRank>& p, threadgroup typename D::value* shared,
                    Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  int seen = place.length;
  if (p.causal != 0) {
    int own = int(place.row % uint(p.rows)) + 1 + int(p.split.length - p.rows);
    seen = own < 0 ? 0 : own < seen ? own : seen;
  }
  V scale = Number<V>::of(p.scale);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device typename D::memory* to = y + long(place.row) * p.split.length;
  int shift = p.split.shifted != 0 ? InPacket<D>::shift(to) : 0;
  int first = int(place.lane) * kCount - shift, step = int(lanes) * kCount;
  Packet<16> held[kHold];
  load_row<D, kHold>(held, from, first, step, seen, InPacket<D>::shift(from) == shift, V(0));
  V values[kHold * kCount];
  OnlineSoftmax<V> part;
  part.top = Lowest<V>::value();
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      int at = first + u * step + i;
      V value = at >= 0 && at < seen ? D::get(held[u].word, i) * scale : Lowest<V>::infinite();
      values[u * kCount + i] = value;
      part.top = metal::max(part.top, value);
    }
  }
  part.top = simd_row_max(part.top, lanes);
  V sums[kHold];
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    sums[u] = V(0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      V e = e_to(values[u * kCount + i] - part.top);
      values[u * kCount + i] = e;
      sums[u] += e;
    }
  }
#pragma unroll
  for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
  part.sum = simd_row_sum(sums[0], lanes);
  OnlineSoftmax<V> all = weigh_row(part, lanes, shared, ctx);
  V factor = seen > 0 ? e_to(part.top - all.top) / all.sum : V(0);
  bool packed = InPacket<D>::shift(to) == shift;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    Packet<16> out;
#pragma unroll
    for (int i = 0; i < kCount; ++i) D::put(out.word, i, values[u * kCount + i] * factor);
    store_packet<D>(out, to, first + u * step, place.length, packed);
  }
}
