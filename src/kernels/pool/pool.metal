// max_pool and resample: windows over spatial axes. Text of the kernel dialect.
//
// A thread makes an element of the result, and reads what it is made of one by one: neighbours
// share most of that in a cache. What an element is made of follows from integers alone, as on the
// host (ops/axis_window.h, ops/axis_taps.cc).

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/pool/params.h"

// `whole` is not negative, `part` is positive.
HEARTH_INLINE long floored(long whole, long part) {
  long quotient = whole / part;
  return quotient * part > whole ? quotient - 1 : quotient;
}
HEARTH_INLINE long ceiled(long whole, long part) { return -floored(-whole, part); }

// Elements first, first + step, ... of a window.
struct PoolPart {
  long first, count, step;
};

HEARTH_INLINE PoolPart part_of(constant PoolAxis& a, long o) {
  PoolPart part;
  if (a.window == 0) {
    part.first = o * a.extent / a.positions;
    part.count = ((o + 1) * a.extent - 1) / a.positions + 1 - part.first;
    part.step = 1;
    return part;
  }
  long start = o * a.stride - a.padding;
  long skipped = start < 0 ? (a.dilation - 1 - start) / a.dilation : long(0);
  part.step = a.dilation;
  part.first = start + skipped * a.dilation;
  long inside = part.first < a.extent ? (a.extent - part.first - 1) / a.dilation + 1 : long(0);
  part.count = metal::max(metal::min(inside, a.window - skipped), long(0));
  return part;
}

// Where results lie that differ from i in the axis before.
template <typename I>
HEARTH_INLINE long next_position(thread I& i, constant PoolAxis& a) {
  I rest = i / I(a.results);
  long at = long(i - rest * I(a.results));
  i = rest;
  return at;
}

template <typename V>
struct PoolLeast {
  static HEARTH_INLINE V of(long least) { return V(least); }
};
template <>
struct PoolLeast<float> {
  static HEARTH_INLINE float of(long) { return -INFINITY; }
};
#if HEARTH_HAS_F64
template <>
struct PoolLeast<double> {
  static HEARTH_INLINE double of(long) { return -double(INFINITY); }
};
#endif

// The largest element of window i, and its place in its plane; -1 where there is none.
template <typename D, typename I, int kRank>
HEARTH_INLINE typename D::value largest_of(device const typename D::memory* x,
                                           constant MaxPoolParams<kRank>& p, I i,
                                           thread long& place) {
  typedef typename D::value V;
  PoolPart width = part_of(p.axis[2], next_position<I>(i, p.axis[2]));
  PoolPart height = part_of(p.axis[1], next_position<I>(i, p.axis[1]));
  PoolPart depth = part_of(p.axis[0], next_position<I>(i, p.axis[0]));
  long base = offset_of<I, kRank>(i, p.planes);
  V best = PoolLeast<V>::of(p.least);
  place = -1;
  for (long a = 0; a < depth.count; ++a) {
    long d = depth.first + a * depth.step;
    for (long b = 0; b < height.count; ++b) {
      long h = height.first + b * height.step;
      long row = base + d * p.axis[0].step + h * p.axis[1].step;
      long at = (d * p.axis[1].extent + h) * p.axis[2].extent;
      for (long c = 0; c < width.count; ++c) {
        long w = width.first + c * width.step;
        V value = D::load(x[row + w * p.axis[2].step]);
        bool wins = place < 0 || value > best || (value != value && best == best);
        best = wins ? value : best;
        place = wins ? at + w : place;
      }
    }
  }
  return best;
}

template <typename D, typename I, int kRank>
void max_pool(device const typename D::memory* x, device typename D::memory* y,
              constant MaxPoolParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= ulong(p.count)) return;
  long place = 0;
  y[i] = D::store(largest_of<D, I, kRank>(x, p, i, place));
}

template <typename D, typename I, int kRank>
void max_pool_indexed(device const typename D::memory* x, device typename D::memory* y,
                      device long* places, constant MaxPoolParams<kRank>& p, Ctx ctx) {
  I i = I(ctx.gid.x);
  if (ulong(i) >= ulong(p.count)) return;
  long place = 0;
  y[i] = D::store(largest_of<D, I, kRank>(x, p, i, place));
  places[i] = place;
}

// ResampleRule of ops/axis_taps.h.
enum { kMean, kSum, kNearest, kNearestExact, kLinear, kCubic };

// Where result o lies between the elements of an axis, the sides of `numerator / denominator`.
HEARTH_INLINE long point_scale(constant PoolAxis& a, bool aligned) {
  return aligned ? a.extent - 1 : 2 * a.extent;
}
HEARTH_INLINE long point_shift(constant PoolAxis& a, bool aligned) {
  return aligned ? long(0) : a.extent - a.positions;
}
HEARTH_INLINE long point_divisor(constant PoolAxis& a, bool aligned) {
  return aligned ? metal::max(a.positions - 1, long(1)) : 2 * a.positions;
}

template <typename V>
HEARTH_INLINE V cubic_weight(V distance) {
  V t = metal::abs(distance);
  if (t <= V(1.0f)) return (V(1.25f) * t - V(2.25f)) * t * t + V(1.0f);
  return t < V(2.0f) ? ((V(-0.75f) * t + V(3.75f)) * t - V(6.0f)) * t + V(3.0f) : V(0.0f);
}

// What element i has to do with result o.
template <typename V, int kRule>
HEARTH_INLINE V weight_of(constant PoolAxis& a, bool flag, long o, long i) {
  if (kRule == kNearest) return o * a.extent / a.positions == i ? V(1.0f) : V(0.0f);
  if (kRule == kNearestExact) {
    return (2 * o + 1) * a.extent / (2 * a.positions) == i ? V(1.0f) : V(0.0f);
  }
  if (kRule == kMean || kRule == kSum) {
    PoolPart part = part_of(a, o);
    long from = i - part.first;
    if (from < 0 || from >= part.count * part.step || from % part.step != 0) return V(0.0f);
    if (kRule == kSum) return V(1.0f);
    long count = part.count;
    if (flag && a.window != 0) {
      long room = a.extent + 2 * a.padding - o * a.stride;
      count = metal::min((room - 1) / a.dilation + 1, a.window);
    }
    return V(1.0f) / V(count);
  }
  long divisor = point_divisor(a, flag);
  long at = o * point_scale(a, flag) + point_shift(a, flag);
  long base = floored(at, divisor);
  V rest = V(at - base * divisor) / V(divisor);
  V sum = V(0.0f);
#pragma unroll
  for (int k = -1; k <= 2; ++k) {
    if (kRule == kLinear && (k < 0 || k > 1)) continue;
    V weight =
        kRule == kCubic ? cubic_weight<V>(rest - V(float(k))) : (k == 0 ? V(1.0f) - rest : rest);
    if (metal::min(metal::max(base + k, long(0)), a.extent - 1) == i) sum += weight;
  }
  return sum;
}

// The elements that result `at` is made of, some perhaps with a weight of 0.
template <int kRule>
HEARTH_INLINE PoolPart elements_of(constant PoolAxis& a, bool flag, long at) {
  if (kRule == kMean || kRule == kSum) return part_of(a, at);
  PoolPart part;
  part.step = 1;
  part.count = 1;
  if (kRule == kNearest) {
    part.first = at * a.extent / a.positions;
  } else if (kRule == kNearestExact) {
    part.first = (2 * at + 1) * a.extent / (2 * a.positions);
  } else {
    long before = kRule == kCubic ? 1 : 0;
    long base = floored(at * point_scale(a, flag) + point_shift(a, flag), point_divisor(a, flag));
    part.first = metal::min(metal::max(base - before, long(0)), a.extent - 1);
    part.count = metal::min(metal::max(base + 1 + before, long(0)), a.extent - 1) - part.first + 1;
  }
  return part;
}

// The results that element i is part of, some perhaps with a weight of 0.
template <int kRule>
HEARTH_INLINE PoolPart results_with(constant PoolAxis& a, bool flag, long i) {
  long first = 0, end = a.positions;
  if ((kRule == kMean || kRule == kSum) && a.window != 0) {
    first = ceiled(i + a.padding - (a.window - 1) * a.dilation, a.stride);
    end = floored(i + a.padding, a.stride) + 1;
  } else if (kRule == kMean || kRule == kSum) {
    first = i * a.positions / a.extent;
    end = ceiled((i + 1) * a.positions, a.extent);
  } else if (kRule == kNearest) {
    first = ceiled(i * a.positions, a.extent);
    end = ceiled((i + 1) * a.positions, a.extent);
  } else if (kRule == kNearestExact) {
    first = ceiled(2 * i * a.positions - a.extent, 2 * a.extent);
    end = ceiled(2 * (i + 1) * a.positions - a.extent, 2 * a.extent);
  } else {
    // Points whose element below is from i - reach on and below i + reach; borders see all beyond.
    long reach = kRule == kCubic ? 2 : 1;
    long scale = point_scale(a, flag), shift = point_shift(a, flag);
    long divisor = point_divisor(a, flag);
    if (i > 0) first = ceiled((i - reach) * divisor - shift, metal::max(scale, long(1)));
    if (i < a.extent - 1) end = ceiled((i + reach) * divisor - shift, metal::max(scale, long(1)));
  }
  PoolPart part;
  part.step = 1;
  part.first = metal::max(first, long(0));
  part.count = metal::min(end, a.positions) - part.first;
  return part;
}

template <int kRule, bool kAdjoint>
HEARTH_INLINE PoolPart taps_of(constant PoolAxis& a, bool flag, long at) {
  return kAdjoint ? results_with<kRule>(a, flag, at) : elements_of<kRule>(a, flag, at);
}
template <typename V, int kRule, bool kAdjoint>
HEARTH_INLINE V tap_weight(constant PoolAxis& a, bool flag, long at, long tap) {
  return kAdjoint ? weight_of<V, kRule>(a, flag, tap, at) : weight_of<V, kRule>(a, flag, at, tap);
}

template <typename D, typename I, int kRule, bool kAdjoint, int kRank>
void resample(device const typename D::memory* x, device typename D::memory* y,
              constant ResampleParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  I i = I(ctx.gid.x), plane = i;
  if (ulong(i) >= ulong(p.count)) return;
  bool flag = p.flag != 0;
  long column = next_position<I>(plane, p.axis[2]), row = next_position<I>(plane, p.axis[1]);
  long slice = next_position<I>(plane, p.axis[0]);
  PoolPart width = taps_of<kRule, kAdjoint>(p.axis[2], flag, column);
  PoolPart height = taps_of<kRule, kAdjoint>(p.axis[1], flag, row);
  PoolPart depth = taps_of<kRule, kAdjoint>(p.axis[0], flag, slice);
  long base = offset_of<I, kRank>(plane, p.planes);
  V sum = V(0.0f);
  for (long a = 0; a < depth.count; ++a) {
    long d = depth.first + a * depth.step;
    V by_depth = tap_weight<V, kRule, kAdjoint>(p.axis[0], flag, slice, d);
    for (long b = 0; b < height.count; ++b) {
      long h = height.first + b * height.step;
      V by_height = by_depth * tap_weight<V, kRule, kAdjoint>(p.axis[1], flag, row, h);
      if (by_height == V(0.0f)) continue;
      long from = base + d * p.axis[0].step + h * p.axis[1].step;
      for (long c = 0; c < width.count; ++c) {
        long w = width.first + c * width.step;
        V weight = by_height * tap_weight<V, kRule, kAdjoint>(p.axis[2], flag, column, w);
        // What has no weight is no part of the result, whatever it is.
        if (weight != V(0.0f)) sum += weight * D::load(x[from + w * p.axis[2].step]);
      }
    }
  }
  y[i] = D::store(sum);
}
