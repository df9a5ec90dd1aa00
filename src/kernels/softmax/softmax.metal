// softmax, log_softmax and logsumexp over rows, and the gradients of the first two. Text of the
// kernel dialect.
//
//   softmax      y = e^(x - max) / sum e^(x - max)      dx = y * (g - sum(g * y))
//   log_softmax  y = x - max - log sum e^(x - max)      dx = g - e^y * sum(g)
//   logsumexp    y = max + log sum e^(x - max)
//
// A row that fits into registers is read once (rows.h): its maximum over the lanes of a simdgroup,
// the sum of e^(x - that), then one exchange of both between simdgroups. Longer rows keep a running
// maximum and a sum scaled to it, and are read again for the result, mostly out of the cache. Bound
// by memory. Sums in f32 (f64 for f64), in an order that depends on extents and alignment only;
// those of longer rows keep what rounding takes (LongSum), so that their error does not grow.
// The maximum starts at the lowest finite number, so a row of -inf alone has the sum 0: NaN for
// softmax, -inf for logsumexp.

#include "kernels/blocks/rows.h"
#include "kernels/softmax/params.h"

// e^x, of float by the quickest power of two: a few units in the last place, times |x| / 16.
HEARTH_INLINE float e_to(float x) { return metal::fast::exp2(x * 1.44269502f); }
#if HEARTH_HAS_F64
HEARTH_INLINE double e_to(double x) { return metal::exp(x); }
#endif

template <typename V>
struct Lowest;
template <>
struct Lowest<float> {
  static HEARTH_INLINE float value() { return -FLT_MAX; }
  static HEARTH_INLINE float infinite() { return -INFINITY; }
};
#if HEARTH_HAS_F64
template <>
struct Lowest<double> {
  static HEARTH_INLINE double value() { return numeric_limits<double>::lowest(); }
  static HEARTH_INLINE double infinite() { return -numeric_limits<double>::infinity(); }
};
#endif

// The maximum of some elements of a row, and the sum of their e^(x - top).
template <typename V>
struct OnlineSoftmax {
  V top, sum;
};

// Of the whole row, from what the lanes of each simdgroup know together. `shared` has 64 elements.
template <typename V>
HEARTH_INLINE OnlineSoftmax<V> weigh_row(OnlineSoftmax<V> part, uint lanes, threadgroup V* shared,
                                         Ctx ctx) {
  if (lanes <= 32u) return part;
  if (ctx.lane == 0u) {
    shared[ctx.sg] = part.top;
    shared[32u + ctx.sg] = part.sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint other = ctx.lane & (ctx.nsg - 1u);
  V top = shared[other], sum = shared[32u + other];
  OnlineSoftmax<V> all;
  all.top = simd_row_max(top, ctx.nsg);
  all.sum = simd_row_sum(sum * e_to(top - all.top), ctx.nsg);
  return all;
}

// One read of a row of any length. kFinite keeps the maximum below infinity, for results that may
// be infinite.
template <typename D, int kHold, bool kFinite>
HEARTH_INLINE OnlineSoftmax<typename D::value> weigh(device const typename D::memory* row,
                                                     int shift, bool packed, int length, uint lane,
                                                     uint lanes,
                                                     threadgroup typename D::value* shared,
                                                     Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  OnlineSoftmax<V> part;
  part.top = Lowest<V>::value();
  LongSum<V> sum;
  sum.clear();
  int step = int(lanes) * kCount;
  for (int first = int(lane) * kCount - shift; first < length; first += kHold * step) {
    Packet<16> held[kHold];
    load_row<D, kHold>(held, row, first, step, length, packed, Lowest<V>::infinite());
    V top = part.top;
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) top = metal::max(top, D::get(held[u].word, i));
    }
    if (kFinite) top = metal::min(top, -Lowest<V>::value());
    V sums[kHold];
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      sums[u] = V(0);
#pragma unroll
      for (int i = 0; i < kCount; ++i) sums[u] += e_to(D::get(held[u].word, i) - top);
    }
#pragma unroll
    for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
    sum.scale(e_to(part.top - top));
    sum.add(sums[0]);
    part.top = top;
  }
  V top = simd_row_max(part.top, lanes);
  part.sum = simd_row_sum(sum.value() * e_to(part.top - top), lanes);
  part.top = top;
  return weigh_row(part, lanes, shared, ctx);
}

// kHold packets a thread hold the row.
template <typename D, bool kLog, int kHold, int kRank>
void softmax_rows(device const typename D::memory* x, device typename D::memory* y,
                  constant SoftmaxParams<kRank>& p, threadgroup typename D::value* shared,
                  Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device typename D::memory* to = y + long(place.row) * p.split.length;
  int shift = p.split.shifted != 0 ? InPacket<D>::shift(to) : 0;
  int first = int(place.lane) * kCount - shift, step = int(lanes) * kCount;
  Packet<16> held[kHold];
  load_row<D, kHold>(held, from, first, step, place.length, InPacket<D>::shift(from) == shift,
                     Lowest<V>::infinite());
  V values[kHold * kCount];
  OnlineSoftmax<V> part;
  part.top = Lowest<V>::value();
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      V value = D::get(held[u].word, i);
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
      if (!kLog) values[u * kCount + i] = e;
      sums[u] += e;
    }
  }
#pragma unroll
  for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
  part.sum = simd_row_sum(sums[0], lanes);
  OnlineSoftmax<V> all = weigh_row(part, lanes, shared, ctx);
  V factor = kLog ? metal::log(all.sum) : e_to(part.top - all.top) / all.sum;
  bool packed = InPacket<D>::shift(to) == shift;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    Packet<16> out;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      V value = values[u * kCount + i];
      D::put(out.word, i, kLog ? (value - all.top) - factor : value * factor);
    }
    store_packet<D>(out, to, first + u * step, place.length, packed);
  }
}

// Rows of any length.
template <typename D, bool kLog, int kHold, int kRank>
void softmax_long_rows(device const typename D::memory* x, device typename D::memory* y,
                       constant SoftmaxParams<kRank>& p, threadgroup typename D::value* shared,
                       Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device typename D::memory* to = y + long(place.row) * p.split.length;
  int shift = p.split.shifted != 0 ? InPacket<D>::shift(to) : 0;
  bool from_packed = InPacket<D>::shift(from) == shift, to_packed = InPacket<D>::shift(to) == shift;
  OnlineSoftmax<V> all = weigh<D, kHold, false>(from, shift, from_packed, place.length, place.lane,
                                                lanes, shared, ctx);
  V factor = kLog ? metal::log(all.sum) : V(1) / all.sum;
  int step = int(lanes) * kCount;
  for (int first = int(place.lane) * kCount - shift; first < place.length; first += kHold * step) {
    Packet<16> held[kHold];
    load_row<D, kHold>(held, from, first, step, place.length, from_packed, V(0));
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      Packet<16> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        V value = D::get(held[u].word, i) - all.top;
        D::put(out.word, i, kLog ? value - factor : e_to(value) * factor);
      }
      store_packet<D>(out, to, first + u * step, place.length, to_packed);
    }
  }
}

template <typename D, int kHold, int kRank>
void logsumexp_rows(device const typename D::memory* x, device typename D::memory* y,
                    constant SoftmaxParams<kRank>& p, threadgroup typename D::value* shared,
                    Ctx ctx) {
  typedef typename D::value V;
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  int from_shift = InPacket<D>::shift(from), shift = p.split.shifted != 0 ? from_shift : 0;
  OnlineSoftmax<V> all = weigh<D, kHold, true>(from, shift, from_shift == shift, place.length,
                                               place.lane, lanes, shared, ctx);
  if (place.inside && place.lane == 0u) y[place.row] = D::store(all.top + metal::log(all.sum));
}

// kWhole: kHold packets a thread hold the row, and it is read once.
template <typename D, bool kLog, bool kWhole, int kHold, int kRank>
void softmax_backward_rows(device const typename D::memory* g, device const typename D::memory* y,
                           device typename D::memory* dx, constant SoftmaxBackwardParams<kRank>& p,
                           threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  RowPlace place = row_place(p.split, ctx);
  uint lanes = uint(p.split.lanes);
  device const typename D::memory* g_row = g + offset_of<uint, kRank>(place.row, p.g);
  device const typename D::memory* y_row = y + offset_of<uint, kRank>(place.row, p.y);
  device typename D::memory* to = dx + long(place.row) * p.split.length;
  int shift = p.split.shifted != 0 ? InPacket<D>::shift(to) : 0;
  bool g_packed = InPacket<D>::shift(g_row) == shift, y_packed = InPacket<D>::shift(y_row) == shift;
  bool packed = InPacket<D>::shift(to) == shift;
  int begin = int(place.lane) * kCount - shift, step = int(lanes) * kCount;
  Packet<16> grads[kHold], results[kHold];
  V sum = V(0);
  LongSum<V> parts;
  parts.clear();
  for (int first = begin; kWhole || first < place.length; first += kHold * step) {
    load_row<D, kHold>(grads, g_row, first, step, place.length, g_packed, V(0));
    if (kWhole || !kLog) {
      load_row<D, kHold>(results, y_row, first, step, place.length, y_packed, V(0));
    }
    V sums[kHold];
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      sums[u] = V(0);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        V grad = D::get(grads[u].word, i);
        sums[u] = kLog ? sums[u] + grad : metal::fma(grad, D::get(results[u].word, i), sums[u]);
      }
    }
#pragma unroll
    for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
    if (kWhole) {
      sum = sums[0];
      break;
    }
    parts.add(sums[0]);
  }
  if (!kWhole) sum = parts.value();
  sum = row_sum(sum, lanes, shared, ctx);
  for (int first = begin; kWhole || first < place.length; first += kHold * step) {
    if (!kWhole) {
      load_row<D, kHold>(grads, g_row, first, step, place.length, g_packed, V(0));
      load_row<D, kHold>(results, y_row, first, step, place.length, y_packed, V(0));
    }
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      Packet<16> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        V grad = D::get(grads[u].word, i), result = D::get(results[u].word, i);
        D::put(out.word, i, kLog ? grad - e_to(result) * sum : result * (grad - sum));
      }
      store_packet<D>(out, to, first + u * step, place.length, packed);
    }
    if (kWhole) break;
  }
}
