// Gradients of layer_norm and rms_norm. Text of the kernel dialect.
//
//   dx = r * (gw - mean(gw) - h * mean(gw * h)),   gw = g * weight,   h and r as in norm.h
//   dweight = sum over rows of g * h,   dbias = sum over rows of g
//
// rms_norm is without the terms that come from the mean, and without dbias. Rows that fit into
// registers: a threadgroup takes p.chunk rows in turn (or several at a time), reads g and x once,
// writes dx, and keeps the sums of its columns in registers; it leaves them as one row of partial
// sums a threadgroup, or a simdgroup where rows have no more. Longer rows: one launch writes dx and
// what each row is scaled by, a second one sums columns. Both ways norm_combine adds the partial
// sums in order, so results are the same in every run. Bound by memory.

#include "kernels/norm.h"

template <int kRank>
struct NormBackwardParams {
  RowSplit split;
  long epsilon;
  long chunk;  // rows of a threadgroup, divided by those that it takes at a time
  Axes<kRank> g, x;
};

// The sums of gw and gw * h over what a thread holds.
template <typename D, bool kCentered, bool kWeight, int kHold>
HEARTH_INLINE void held_products(thread const Packet<16>* grads, thread const Packet<16>* held,
                                 thread const Packet<16>* weights,
                                 RowScale<typename D::value> scale,
                                 thread typename D::value* sums) {
  typedef typename D::value V;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
#pragma unroll
    for (int i = 0; i < InPacket<D>::count; ++i) {
      V gw = D::get(grads[u].word, i);
      if (kWeight) gw *= D::get(weights[u].word, i);
      if (kCentered) sums[0] += gw;
      sums[1] = metal::fma(gw, scale.apply(D::get(held[u].word, i)), sums[1]);
    }
  }
}

// Writes dx of what a thread holds; `means` of gw and gw * h.
template <typename D, bool kCentered, bool kWeight, int kHold>
HEARTH_INLINE void store_gradient(thread const Packet<16>* grads, thread const Packet<16>* held,
                                  thread const Packet<16>* weights,
                                  RowScale<typename D::value> scale,
                                  thread const typename D::value* means,
                                  device typename D::memory* to, int first, int step, int length,
                                  bool packed) {
  typedef typename D::value V;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    Packet<16> out;
#pragma unroll
    for (int i = 0; i < InPacket<D>::count; ++i) {
      V gw = D::get(grads[u].word, i);
      if (kWeight) gw *= D::get(weights[u].word, i);
      if (kCentered) gw -= means[0];
      V h = scale.apply(D::get(held[u].word, i));
      D::put(out.word, i, scale.factor * metal::fma(-h, means[1], gw));
    }
    store_packet<D>(out, to, first + u * step, length, packed);
  }
}

// `sums` becomes the means over the row. `shared` has 64 elements.
template <typename V, bool kCentered>
HEARTH_INLINE void row_means(thread V* sums, V count, uint lanes, threadgroup V* shared, Ctx ctx) {
  if (kCentered) sums[0] = simd_row_sum(sums[0], lanes);
  sums[1] = simd_row_sum(sums[1], lanes);
  if (lanes > 32u) {
    if (ctx.lane == 0u) {
      shared[ctx.sg] = sums[0];
      shared[32u + ctx.sg] = sums[1];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool used = ctx.lane < ctx.nsg;
    if (kCentered) sums[0] = simd_row_sum(used ? shared[ctx.lane] : V(0), 32u);
    sums[1] = simd_row_sum(used ? shared[32u + ctx.lane] : V(0), 32u);
  }
  sums[0] /= count;
  sums[1] /= count;
}

// The rows that a threadgroup takes in a turn; beyond its last turn there are none.
HEARTH_INLINE RowPlace turn_place(constant RowSplit& split, uint chunk, uint turn, Ctx ctx) {
  uint bits = uint(split.lane_bits);
  RowPlace place;
  place.lane = ctx.tid.x & (uint(split.lanes) - 1u);
  place.row = (ctx.tg.x * chunk + turn) * (ctx.ntid.x >> bits) + (ctx.tid.x >> bits);
  place.inside = turn < chunk && place.row < uint(split.rows);
  place.length = place.inside ? int(split.length) : 0;
  if (!place.inside) place.row = 0u;
  return place;
}

// Returns the row's first element.
template <typename D, bool kCentered, int kHold, int kRank>
HEARTH_INLINE typename D::value load_turn(thread Packet<16>* grads, thread Packet<16>* held,
                                          device const typename D::memory* g,
                                          device const typename D::memory* x, RowPlace place,
                                          int first, int step,
                                          constant NormBackwardParams<kRank>& p) {
  typedef typename D::value V;
  device const typename D::memory* g_row = g + offset_of<uint, kRank>(place.row, p.g);
  device const typename D::memory* x_row = x + offset_of<uint, kRank>(place.row, p.x);
  V origin = kCentered ? D::load(x_row[0]) : V(0);
  load_row<D, kHold>(held, x_row, first, step, place.length, InPacket<D>::shift(x_row) == 0,
                     origin);
  load_row<D, kHold>(grads, g_row, first, step, place.length, InPacket<D>::shift(g_row) == 0, V(0));
  return origin;
}

template <typename D, bool kCentered, bool kWeight, int kHold, int kRank>
void norm_backward_rows(device const typename D::memory* g, device const typename D::memory* x,
                        device const typename D::memory* weight, device typename D::memory* dx,
                        device typename D::value* partial, constant NormBackwardParams<kRank>& p,
                        threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  const int kVectors = kCentered ? 2 : 1;
  uint lanes = uint(p.split.lanes);
  int length = int(p.split.length);
  int first = int(ctx.tid.x & (lanes - 1u)) * kCount, step = int(lanes) * kCount;
  V epsilon = ConstantReal<V>::value(p.epsilon);
  Packet<16> weights[kHold];
  if (kWeight) {
    load_row<D, kHold>(weights, weight, first, step, length, InPacket<D>::shift(weight) == 0, V(0));
  }
  V dweight[kHold * kCount], dbias[kHold * kCount];
#pragma unroll
  for (int i = 0; i < kHold * kCount; ++i) {
    dweight[i] = V(0);
    dbias[i] = V(0);
  }
  Packet<16> grads[kHold], held[kHold];
  RowPlace place = turn_place(p.split, uint(p.chunk), 0u, ctx);
  V origin = load_turn<D, kCentered, kHold>(grads, held, g, x, place, first, step, p);
  for (uint turn = 0; turn < uint(p.chunk); ++turn) {
    // The next rows are on their way while these are computed.
    Packet<16> next_grads[kHold], next_held[kHold];
    RowPlace next_place = turn_place(p.split, uint(p.chunk), turn + 1u, ctx);
    V next_origin =
        load_turn<D, kCentered, kHold>(next_grads, next_held, g, x, next_place, first, step, p);
    // From here on h and gw stand for x and g.
    V h[kHold * kCount], gw[kHold * kCount];
    V mean = V(0);
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        h[u * kCount + i] = D::get(held[u].word, i) - origin;
        mean += h[u * kCount + i];
      }
    }
    if (kCentered) mean = row_sum(mean, lanes, shared, ctx) / V(length);
    V squares = V(0);
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      int left = place.length - first - u * step;
      bool whole = left >= kCount;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (kCentered) h[u * kCount + i] -= mean;
        V c = h[u * kCount + i];
        if (whole || i < left) squares = metal::fma(c, c, squares);
      }
    }
    V factor = V(1) / metal::sqrt(row_sum(squares, lanes, shared + 32, ctx) / V(length) + epsilon);
    V means[2] = {V(0), V(0)};
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        int at = u * kCount + i;
        V grad = D::get(grads[u].word, i);
        h[at] *= factor;
        gw[at] = kWeight ? grad * D::get(weights[u].word, i) : grad;
        if (kCentered) means[0] += gw[at];
        means[1] = metal::fma(gw[at], h[at], means[1]);
        if (place.inside) dweight[at] = metal::fma(grad, h[at], dweight[at]);
        if (kCentered) dbias[at] += grad;
      }
    }
    row_means<V, kCentered>(means, V(length), lanes, shared + 64, ctx);
    device typename D::memory* to = dx + long(place.row) * p.split.length;
    bool packed = InPacket<D>::shift(to) == 0;
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      Packet<16> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        int at = u * kCount + i;
        V centred = kCentered ? gw[at] - means[0] : gw[at];
        D::put(out.word, i, factor * metal::fma(-h[at], means[1], centred));
      }
      store_packet<D>(out, to, first + u * step, place.length, packed);
    }
    place = next_place;
    origin = next_origin;
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      grads[u] = next_grads[u];
      held[u] = next_held[u];
    }
  }
  for (uint distance = lanes; distance < 32u; distance *= 2u) {
#pragma unroll
    for (int i = 0; i < kHold * kCount; ++i) {
      dweight[i] += exchanged(dweight[i], ushort(distance));
      if (kCentered) dbias[i] += exchanged(dbias[i], ushort(distance));
    }
  }
  if (ctx.lane >= lanes) return;
  uint part = lanes > 32u ? ctx.tg.x : ctx.tg.x * ctx.nsg + ctx.sg;
  device V* to = partial + long(part) * (kVectors * p.split.length);
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      int at = first + u * step + i;
      if (at < length) {
        to[at] = dweight[u * kCount + i];
        if (kCentered) to[length + at] = dbias[u * kCount + i];
      }
    }
  }
}

// dx of rows of any length, and origin, mean and factor of each row.
template <typename D, bool kCentered, bool kWeight, int kHold, int kRank>
void norm_backward_long_rows(device const typename D::memory* g, device const typename D::memory* x,
                             device const typename D::memory* weight, device typename D::memory* dx,
                             device typename D::value* scales,
                             constant NormBackwardParams<kRank>& p,
                             threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  RowPlace place = row_place(p.split, ctx);
  int begin = int(place.lane) * kCount, step = int(p.split.lanes) * kCount;
  device const typename D::memory* g_row = g + offset_of<uint, kRank>(place.row, p.g);
  device const typename D::memory* x_row = x + offset_of<uint, kRank>(place.row, p.x);
  device typename D::memory* to = dx + long(place.row) * p.split.length;
  bool g_packed = InPacket<D>::shift(g_row) == 0, x_packed = InPacket<D>::shift(x_row) == 0;
  bool w_packed = InPacket<D>::shift(weight) == 0, packed = InPacket<D>::shift(to) == 0;
  V origin = kCentered ? D::load(x_row[0]) : V(0);
  RowScale<V> scale = long_scale<D, kCentered, kHold>(
      x_row, x_packed, place, p.split, origin, ConstantReal<V>::value(p.epsilon), shared, ctx);
  Packet<16> grads[kHold], held[kHold], weights[kHold];
  V means[2] = {V(0), V(0)};
  for (int first = begin; first < place.length; first += kHold * step) {
    load_row<D, kHold>(held, x_row, first, step, place.length, x_packed, origin);
    load_row<D, kHold>(grads, g_row, first, step, place.length, g_packed, V(0));
    if (kWeight) load_row<D, kHold>(weights, weight, first, step, place.length, w_packed, V(0));
    held_products<D, kCentered, kWeight, kHold>(grads, held, weights, scale, means);
  }
  row_means<V, kCentered>(means, V(int(p.split.length)), uint(p.split.lanes), shared + 64, ctx);
  for (int first = begin; first < place.length; first += kHold * step) {
    load_row<D, kHold>(held, x_row, first, step, place.length, x_packed, origin);
    load_row<D, kHold>(grads, g_row, first, step, place.length, g_packed, V(0));
    if (kWeight) load_row<D, kHold>(weights, weight, first, step, place.length, w_packed, V(0));
    store_gradient<D, kCentered, kWeight, kHold>(grads, held, weights, scale, means, to, first,
                                                 step, place.length, packed);
  }
  if (place.inside && place.lane == 0u) {
    device V* kept = scales + long(place.row) * 3;
    kept[0] = scale.origin;
    kept[1] = scale.mean;
    kept[2] = scale.factor;
  }
}

// Partial sums of columns: a thread has a packet of columns, threadgroup row tg.y the rows from
// tg.y * p.chunk on.
template <typename D, bool kCentered, int kRank>
void norm_backward_columns(device const typename D::memory* g, device const typename D::memory* x,
                           device const typename D::value* scales,
                           device typename D::value* partial, constant NormBackwardParams<kRank>& p,
                           Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  const int kVectors = kCentered ? 2 : 1;
  int length = int(p.split.length), first = int(ctx.gid.x) * kCount;
  uint end = (ctx.tg.y + 1u) * uint(p.chunk);
  end = end < uint(p.split.rows) ? end : uint(p.split.rows);
  V dweight[kCount], dbias[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    dweight[i] = V(0);
    dbias[i] = V(0);
  }
  for (uint row = ctx.tg.y * uint(p.chunk); row < end; ++row) {
    device const typename D::memory* g_row = g + offset_of<uint, kRank>(row, p.g);
    device const typename D::memory* x_row = x + offset_of<uint, kRank>(row, p.x);
    RowScale<V> scale;
    scale.origin = scales[long(row) * 3];
    scale.mean = scales[long(row) * 3 + 1];
    scale.factor = scales[long(row) * 3 + 2];
    Packet<16> grads[1], held[1];
    load_row<D, 1>(grads, g_row, first, 0, length, InPacket<D>::shift(g_row) == 0, V(0));
    load_row<D, 1>(held, x_row, first, 0, length, InPacket<D>::shift(x_row) == 0, V(0));
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      V grad = D::get(grads[0].word, i);
      dweight[i] = metal::fma(grad, scale.apply(D::get(held[0].word, i)), dweight[i]);
      if (kCentered) dbias[i] += grad;
    }
  }
  device V* to = partial + long(ctx.tg.y) * (kVectors * p.split.length);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (first + i < length) {
      to[first + i] = dweight[i];
      if (kCentered) to[length + first + i] = dbias[i];
    }
  }
}

struct NormCombineParams {
  long columns, parts;
};

// A threadgroup of 32 x 8 threads adds the partial sums of 32 columns.
template <typename D>
void norm_combine(device const typename D::value* partial, device typename D::memory* y,
                  constant NormCombineParams& p, threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  long column = long(ctx.tg.x) * 32 + long(ctx.lane);
  V sum = V(0);
  if (column < p.columns) {
#pragma unroll 8
    for (long part = ctx.sg; part < p.parts; part += 8) sum += partial[part * p.columns + column];
  }
  shared[ctx.tid.x] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (ctx.sg != 0u || column >= p.columns) return;
#pragma unroll
  for (uint i = 1; i < 8u; ++i) sum += shared[32u * i + ctx.lane];
  y[column] = D::store(sum);
}
