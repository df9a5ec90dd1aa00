// layer_norm and rms_norm over rows. Text of the kernel dialect.
//
//   h = (x - mean) * r,   r = 1 / sqrt(mean((x - mean)^2) + epsilon),   y = h * weight + bias
//
// rms_norm is the same with mean = 0 and without bias, l2_norm with the sum in place of the mean of
// squares. What is added to the result may be added here. A row that fits into registers is read
// once (rows.h); a longer one is read again for each step, mostly out of the cache.
// Bound by memory.
// Sums in f32 (f64 for f64); those of longer rows keep what rounding takes (LongSum), so that their
// error does not grow with the row. The mean is taken of the differences from the row's first
// element, then the variance around it: nothing cancels, and a row of equal elements has exactly
// its mean. The result of f32 rows may be rounded to 16 bits as it is stored.

#include "kernels/blocks/rows.h"
#include "kernels/norm/params.h"

// Number out of a word of constants: the bits of a float, or of a double.
template <typename V>
struct ConstantReal;
template <>
struct ConstantReal<float> {
  static HEARTH_INLINE float value(long word) { return as_type<float>(uint(ulong(word))); }
};
#if HEARTH_HAS_F64
template <>
struct ConstantReal<double> {
  static HEARTH_INLINE double value(long word) { return as_type<double>(word); }
};
#endif

// What a row is shifted and scaled by: h = ((x - origin) - mean) * factor.
template <typename V>
struct RowScale {
  V origin, mean, factor;
  HEARTH_INLINE V apply(V x) const { return ((x - origin) - mean) * factor; }
};

// The sum of the differences from origin that a thread holds.
template <typename D, int kHold>
HEARTH_INLINE typename D::value held_sum(thread const Packet<16>* held, typename D::value origin) {
  const int kCount = InPacket<D>::count;
  typename D::value sums[kHold];
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    sums[u] = typename D::value(0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[u] += D::get(held[u].word, i) - origin;
  }
#pragma unroll
  for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
  return sums[0];
}

// The sum of ((x - origin) - mean)^2 over what a thread holds of the row.
template <typename D, bool kPacked, int kHold>
HEARTH_INLINE typename D::value held_squares(thread const Packet<16>* held, int first, int step,
                                             int length, RowScale<typename D::value> scale) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  V sums[kHold];
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    int left = length - first - u * step;
    bool whole = left >= kCount;
    sums[u] = V(0);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      V c = (D::get(held[u].word, i) - scale.origin) - scale.mean;
      if (whole || (!kPacked && i < left)) sums[u] = metal::fma(c, c, sums[u]);
    }
  }
#pragma unroll
  for (int u = 1; u < kHold; ++u) sums[0] += sums[u];
  return sums[0];
}

// Of a row that its threads hold. Sums are divided by `count`. `shared` has 64 elements.
template <typename D, bool kCentered, bool kPacked, int kHold>
HEARTH_INLINE RowScale<typename D::value> held_scale(
    thread const Packet<16>* held, int first, int step, RowPlace place,
    constant RowSplitParams& split, typename D::value origin, typename D::value count,
    typename D::value epsilon, threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  uint lanes = uint(split.lanes);
  RowScale<V> scale;
  scale.origin = origin;
  scale.mean = V(0);
  if (kCentered) {
    scale.mean = row_sum(held_sum<D, kHold>(held, origin), lanes, shared, ctx) / count;
  }
  V squares = held_squares<D, kPacked, kHold>(held, first, step, place.length, scale);
  scale.factor = V(1) / metal::sqrt(row_sum(squares, lanes, shared + 32, ctx) / count + epsilon);
  return scale;
}

// Of a row of any length.
template <typename D, bool kCentered, bool kPacked, int kHold>
HEARTH_INLINE RowScale<typename D::value> long_scale(
    device const typename D::memory* from, RowPlace place, constant RowSplitParams& split,
    typename D::value origin, typename D::value count, typename D::value epsilon,
    threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  const int kCount = InPacket<D>::count;
  uint lanes = uint(split.lanes);
  int begin = int(place.lane) * kCount, step = int(lanes) * kCount;
  Packet<16> held[kHold];
  RowScale<V> scale;
  scale.origin = origin;
  scale.mean = V(0);
  if (kCentered) {
    LongSum<V> sum;
    sum.clear();
    for (int first = begin; first < place.length; first += kHold * step) {
      load_packets<D, kPacked, kHold>(held, from, first, step, place.length, origin);
      sum.add(held_sum<D, kHold>(held, origin));
    }
    scale.mean = row_sum(sum.value(), lanes, shared, ctx) / count;
  }
  LongSum<V> squares;
  squares.clear();
  for (int first = begin; first < place.length; first += kHold * step) {
    load_packets<D, kPacked, kHold>(held, from, first, step, place.length, origin);
    squares.add(held_squares<D, kPacked, kHold>(held, first, step, place.length, scale));
  }
  V variance = row_sum(squares.value(), lanes, shared + 32, ctx) / count;
  scale.factor = V(1) / metal::sqrt(variance + epsilon);
  return scale;
}

// Writes the part of a row that a thread holds, as dtype R. Without weight, bias or a row to add
// their pointers are not read.
template <typename D, typename R, bool kWeight, bool kBias, bool kAdds, bool kPacked, int kHold>
HEARTH_INLINE void store_normalized(thread const Packet<16>* held,
                                    RowScale<typename D::value> scale,
                                    device const typename D::memory* weight,
                                    device const typename D::memory* bias,
                                    device const typename D::memory* added,
                                    device typename R::memory* to, int first, int step,
                                    int length) {
  typedef typename D::value V;
#pragma unroll
  for (int u = 0; u < kHold; ++u) {
    int at = first + u * step;
    Packet<InPacket<D>::count* int(sizeof(typename R::memory))> out;
    Packet<16> weights[1], biases[1], others[1];
    if (kWeight) load_packets<D, kPacked, 1>(weights, weight, at, 0, length, V(0));
    if (kBias) load_packets<D, kPacked, 1>(biases, bias, at, 0, length, V(0));
    if (kAdds) load_packets<D, kPacked, 1>(others, added, at, 0, length, V(0));
#pragma unroll
    for (int i = 0; i < InPacket<D>::count; ++i) {
      V h = scale.apply(D::get(held[u].word, i));
      if (kWeight && kBias) {
        h = metal::fma(h, D::get(weights[0].word, i), D::get(biases[0].word, i));
      } else if (kWeight) {
        h *= D::get(weights[0].word, i);
      } else if (kBias) {
        h += D::get(biases[0].word, i);
      }
      if (kAdds) h += D::get(others[0].word, i);
      R::put(out.word, i, h);
    }
    put_packet<R, kPacked>(out, to, at, length);
  }
}

// kAdds: `added` is dense, of the shape of x. kWhole: kHold packets a thread hold the row. kPacked:
// x, weight, bias, added and y are as load_packets() says.
template <typename D, typename R, bool kCentered, bool kWeight, bool kBias, bool kAdds, bool kWhole,
          bool kPacked, int kHold, int kRank>
void norm_rows(device const typename D::memory* x, device const typename D::memory* weight,
               device const typename D::memory* bias, device const typename D::memory* added,
               device typename R::memory* y, constant NormParams<kRank>& p,
               threadgroup typename D::value* shared, Ctx ctx) {
  typedef typename D::value V;
  RowPlace place = row_place(p.split, ctx);
  device const typename D::memory* from = x + offset_of<uint, kRank>(place.row, p.x);
  device typename R::memory* to = y + long(place.row) * p.split.length;
  device const typename D::memory* other = kAdds ? added + long(place.row) * p.split.length : added;
  V origin = kCentered ? D::load(from[0]) : V(0);
  V epsilon = ConstantReal<V>::value(p.epsilon);
  V count = V(int(p.divisor));
  int begin = int(place.lane) * InPacket<D>::count;
  int step = int(p.split.lanes) * InPacket<D>::count;
  Packet<16> held[kHold];
  if (kWhole) {
    load_packets<D, kPacked, kHold>(held, from, begin, step, place.length, origin);
    RowScale<V> scale = held_scale<D, kCentered, kPacked, kHold>(
        held, begin, step, place, p.split, origin, count, epsilon, shared, ctx);
    store_normalized<D, R, kWeight, kBias, kAdds, kPacked, kHold>(held, scale, weight, bias, other,
                                                                  to, begin, step, place.length);
  } else {
    RowScale<V> scale = long_scale<D, kCentered, kPacked, kHold>(from, place, p.split, origin,
                                                                 count, epsilon, shared, ctx);
    for (int first = begin; first < int(p.split.length); first += kHold * step) {
      load_packets<D, kPacked, kHold>(held, from, first, step, place.length, origin);
      store_normalized<D, R, kWeight, kBias, kAdds, kPacked, kHold>(
          held, scale, weight, bias, other, to, first, step, place.length);
    }
  }
}
