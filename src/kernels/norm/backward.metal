// Gradients of layer_norm and rms_norm. Text of the kernel dialect.
//
//   dx = r * (gw - mean(gw) - h * mean(gw * h)),   gw = g * weight,   h and r as in norm.metal
//   dweight = sum over rows of g * h,   dbias = sum over rows of g
//
// rms_norm is without the terms that come from the mean, and without dbias. Rows that fit into
// registers: a threadgroup takes p.chunk rows in turn (or several at a time), reads g and x once,
// writes dx, and keeps the sums of its columns in registers; it leaves one row of partial sums.
// Longer rows: one launch writes dx and what each row is scaled by, a second one sums columns. Both
// ways norm_combine adds the partial sums in order, so results are the same in every run. Bound by
// memory, and by registers: they set how many rows are under way.

#include "kernels/norm/norm.metal"
#include "kernels/norm/params.h"

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
template <typename D, bool kCentered, bool kWeight, bool kPacked, int kHold>
HEARTH_INLINE void store_gradient(thread const Packet<16>* grads, thread const Packet<16>* held,
                                  thread const Packet<16>* weights,
                                  RowScale<typename D::value> scale,
                                  thread const typename D::value* means,
                                  device typename D::memory* to, int first, int step, int length) {
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
    put_packet<D, kPacked>(out, to, first + u * step, length);
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
    uint other = ctx.lane & (ctx.nsg - 1u);
    if (kCentered) sums[0] = simd_row_sum(shared[other], ctx.nsg);
    sums[1] = simd_row_sum(shared[32u + other], ctx.nsg);
  }
  sums[0] /= count;
  sums[1] /= count;
}

// The rows that a threadgroup takes in a turn; beyond its last turn there are none.
HEARTH_INLINE RowPlace turn_place(constant RowSplitParams& split, uint chunk, uint turn, Ctx ctx) {
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
template <typename D, bool kCentered, bool kPacked, int kHold, int kRank>
HEARTH_INLINE typename D::value load_turn(thread Packet<16>* grads, thread Packet<16>* held,
                                          device const typename D::memory* g,
                                          device const typename D::memory* x, RowPlace place,
                                          int first, int step,
                                          constant NormBackwardParams<kRank>& p) {
  typedef typename D::value V;
  device const typename D::memory* g_row = g + offset_of<uint, kRank>(place.row, p.g);
  device const typename D::memory* x_row = x + offset_of<uint, kRank>(place.row, p.x);
  V origin = kCentered ? D::load(x_row[0]) : V(0);
  load_packets<D, kPacked, kHold>(held, x_row, first, step, place.length, origin);
  load_packets<D, kPacked, kHold>(grads, g_row, first, step, place.length, V(0));
  return origin;
}

// Adds the sums that the threads have of columns in the order of simdgroups, and writes them. Lane
// l has element i of packet l + u * lanes in sums[u * count + i]; `shared` has 32 times as many.
template <typename D, int kVectors, int kHold>
HEARTH_INLINE void write_columns(thread typename D::value* sums, device typename D::value* to,
                                 constant RowSplitParams& split,
                                 threadgroup typename D::value* shared, Ctx ctx) {
  const int kCount = InPacket<D>::count;
  const int kSums = kVectors * kHold * kCount;
  uint lanes = uint(split.lanes);
  for (uint distance = lanes; distance < 32u; distance *= 2u) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums[i] += shuffle_xor(sums[i], ushort(distance));
  }
  for (uint sg = 0; sg < ctx.nsg; ++sg) {
    if (ctx.sg == sg && ctx.lane < lanes) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        threadgroup typename D::value& sum = shared[uint(i) * lanes + ctx.lane];
        sum = sg == 0u ? sums[i] : sum + sums[i];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  uint length = uint(split.length);
  for (uint at = ctx.tid.x; at < length; at += ctx.ntid.x) {
    uint packet = at / uint(kCount);
    uint sum = (packet >> uint(split.lane_bits)) * uint(kCount) + at % uint(kCount);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      to[uint(v) * length + at] =
          shared[(uint(v * kHold * kCount) + sum) * lanes + (packet & (lanes - 1u))];
    }
  }
}

// kShort: a row has a simdgroup or less. `shared` has 128 elements, or what write_columns() needs.
template <typename D, bool kCentered, bool kWeight, bool kShort, bool kPacked, int kHold, int kRank>
void norm_backward_rows(device const typename D::memory* g, device const typename D::memory* x,
                        device const typename D::memory* weight, device typename D::memory* dx,
                        device typename D::value* partial, constant NormBackwardParams<kRank>& p,
                        threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  const int kVectors = kCentered ? 2 : 1;
  const int kElements = kHold * kCount;
  // Where there are registers for it, the next rows are on their way while these are computed.
  const bool kAhead = kElements <= 16;
  uint lanes = uint(p.split.lanes);
  int length = int(p.split.length);
  int first = int(ctx.tid.x & (lanes - 1u)) * kCount, step = int(lanes) * kCount;
  V epsilon = ConstantReal<V>::value(p.epsilon);
  Packet<16> weights[kHold];
  if (kWeight && kAhead) {
    load_packets<D, kPacked, kHold>(weights, weight, first, step, length, V(0));
  }
  V sums[kVectors * kElements];  // of dweight, then of dbias
#pragma unroll
  for (int i = 0; i < kVectors * kElements; ++i) sums[i] = V(0);
  Packet<16> grads[kHold], held[kHold];
  RowPlace place = turn_place(p.split, uint(p.chunk), 0u, ctx);
  V origin = load_turn<D, kCentered, kPacked, kHold>(grads, held, g, x, place, first, step, p);
  for (uint turn = 0; turn < uint(p.chunk); ++turn) {
    Packet<16> next_grads[kHold], next_held[kHold];
    RowPlace next_place = turn_place(p.split, uint(p.chunk), turn + 1u, ctx);
    V next_origin = V(0);
    if (kAhead) {
      next_origin = load_turn<D, kCentered, kPacked, kHold>(next_grads, next_held, g, x, next_place,
                                                            first, step, p);
    } else if (kWeight) {
      load_packets<D, kPacked, kHold>(weights, weight, first, step, length, V(0));
    }
    // From here on h and gw stand for x and g.
    V h[kElements], gw[kElements];
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
        if (whole || (!kPacked && i < left)) squares = metal::fma(c, c, squares);
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
        if (place.inside) sums[at] = metal::fma(grad, h[at], sums[at]);
        if (kCentered) sums[kElements + at] += grad;
      }
    }
    row_means<V, kCentered>(means, V(length), lanes, shared + 64, ctx);
    device typename D::memory* to = dx + long(place.row) * p.split.length;
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
      Packet<16> out;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        int at = u * kCount + i;
        V centred = kCentered ? gw[at] - means[0] : gw[at];
        D::put(out.word, i, factor * metal::fma(-h[at], means[1], centred));
      }
      put_packet<D, kPacked>(out, to, first + u * step, place.length);
    }
    place = next_place;
    if (kAhead) {
      origin = next_origin;
#pragma unroll
      for (int u = 0; u < kHold; ++u) {
        grads[u] = next_grads[u];
        held[u] = next_held[u];
      }
    } else {
      origin = load_turn<D, kCentered, kPacked, kHold>(grads, held, g, x, place, first, step, p);
    }
  }
  device V* to = partial + long(ctx.tg.x) * (kVectors * p.split.length);
  if (kShort) {
    write_columns<D, kVectors, kHold>(sums, to, p.split, shared, ctx);
  } else {
#pragma unroll
    for (int u = 0; u < kHold; ++u) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        int at = first + u * step + i;
        if (at < length) {
          to[at] = sums[u * kCount + i];
          if (kCentered) to[length + at] = sums[kElements + u * kCount + i];
        }
      }
    }
  }
}

// dx of rows of any length, and origin, mean and factor of each row.
template <typename D, bool kCentered, bool kWeight, bool kPacked, int kHold, int kRank>
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
  V origin = kCentered ? D::load(x_row[0]) : V(0);
  RowScale<V> scale = long_scale<D, kCentered, kPacked, kHold>(
      x_row, place, p.split, origin, V(int(p.split.length)), ConstantReal<V>::value(p.epsilon),
      shared, ctx);
  Packet<16> grads[kHold], held[kHold], weights[kHold];
  LongSum<V> totals[2];
  totals[0].clear();
  totals[1].clear();
  for (int first = begin; first < place.length; first += kHold * step) {
    load_packets<D, kPacked, kHold>(held, x_row, first, step, place.length, origin);
    load_packets<D, kPacked, kHold>(grads, g_row, first, step, place.length, V(0));
    if (kWeight) {
      load_packets<D, kPacked, kHold>(weights, weight, first, step, place.length, V(0));
    }
    V sums[2] = {V(0), V(0)};
    held_products<D, kCentered, kWeight, kHold>(grads, held, weights, scale, sums);
    if (kCentered) totals[0].add(sums[0]);
    totals[1].add(sums[1]);
  }
  V means[2] = {totals[0].value(), totals[1].value()};
  row_means<V, kCentered>(means, V(int(p.split.length)), uint(p.split.lanes), shared + 64, ctx);
  for (int first = begin; first < place.length; first += kHold * step) {
    load_packets<D, kPacked, kHold>(held, x_row, first, step, place.length, origin);
    load_packets<D, kPacked, kHold>(grads, g_row, first, step, place.length, V(0));
    if (kWeight) {
      load_packets<D, kPacked, kHold>(weights, weight, first, step, place.length, V(0));
    }
    store_gradient<D, kCentered, kWeight, kPacked, kHold>(grads, held, weights, scale, means, to,
                                                          first, step, place.length);
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

// The partial sums of a column, whose place among those that are added is `at`; true for the
// threads that have it. A threadgroup adds those of 32 columns; `shared` has an element for each
// thread.
template <typename V>
HEARTH_INLINE bool combined(device const V* partial, constant NormCombineParams& p,
                            threadgroup V* shared, Ctx ctx, thread long& at, thread V& sum) {
  at = long(ctx.tg.x) * 32 + long(ctx.lane);
  sum = V(0);
  if (at < p.count) {
#pragma unroll 8
    for (long part = ctx.sg; part < p.parts; part += ctx.nsg)
      sum += partial[part * p.columns + p.first + at];
  }
  shared[ctx.tid.x] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (ctx.sg != 0u || at >= p.count) return false;
  for (uint i = 1; i < ctx.nsg; ++i) sum += shared[32u * i + ctx.lane];
  return true;
}

template <typename D>
void norm_combine(device const typename D::value* partial, device typename D::memory* y,
                  constant NormCombineParams& p, threadgroup typename D::value* shared, Ctx ctx) {
  long at;
  typename D::value sum;
  if (combined<typename D::value>(partial, p, shared, ctx, at, sum)) y[at] = D::store(sum);
}

// Of all columns: those of the weight, then as many of the bias.
template <typename D>
void norm_combine_both(device const typename D::value* partial, device typename D::memory* dweight,
                       device typename D::memory* dbias, constant NormCombineParams& p,
                       threadgroup typename D::value* shared, Ctx ctx) {
  long at;
  typename D::value sum;
  if (!combined<typename D::value>(partial, p, shared, ctx, at, sum)) return;
  long length = p.columns / 2;
  if (at < length)
    dweight[at] = D::store(sum);
  else
    dbias[at - length] = D::store(sum);
}
