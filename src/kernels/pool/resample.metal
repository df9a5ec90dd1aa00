// resample: each spatial axis times a sparse matrix, all of them in one pass. Text of the kernel
// dialect.
//
// A thread makes the results at one position of several planes: what an element weighs is worked
// out once for all of them, which are read at a time. Where channels lie together in memory
// neighbouring threads are of neighbouring planes, and planes are read in packets (kPacked). Of
// large windows, 2^lane_bits threads take columns in turn, so that they read along rows.
// Bound by memory; cubic points and adjoints by arithmetic as much.

#include "kernels/pool/axis.metal"

template <typename V>
HEARTH_INLINE V cubic_weight(V distance) {
  V t = metal::abs(distance);
  if (t <= V(1.0f)) return (V(1.25f) * t - V(2.25f)) * t * t + V(1.0f);
  return t < V(2.0f) ? ((V(-0.75f) * t + V(3.75f)) * t - V(6.0f)) * t + V(3.0f) : V(0.0f);
}

// Where a result lies between the elements of an axis, the sides of `numerator / denominator`.
template <typename I>
HEARTH_INLINE I point_scale(constant PoolAxis& a, bool aligned) {
  return aligned ? I(a.extent) - 1 : 2 * I(a.extent);
}
template <typename I>
HEARTH_INLINE I point_shift(constant PoolAxis& a, bool aligned) {
  return aligned ? I(0) : I(a.extent) - I(a.positions);
}
template <typename I>
HEARTH_INLINE I point_divisor(constant PoolAxis& a, bool aligned) {
  return aligned ? metal::max(I(a.positions) - 1, I(1)) : 2 * I(a.positions);
}

// What a result along an axis is made of: the elements of `part`, some perhaps with a weight of 0.
template <typename V, typename I>
struct PoolTaps {
  PoolPart<I> part;
  V each;  // the weight of the elements of a window
  I base;  // points: the element below
  V rest;
};

template <typename V, typename I, int kRule>
HEARTH_INLINE PoolTaps<V, I> taps_of(constant PoolAxis& a, bool flag, I o) {
  PoolTaps<V, I> taps;
  taps.each = V(1.0f);
  taps.base = 0;
  taps.rest = V(0.0f);
  if (kRule == kResampleMean || kRule == kResampleSum) {
    taps.part = part_of<I>(a, o);
    if (kRule == kResampleSum) return taps;
    I count = taps.part.count;
    if (flag && a.window != 0) {
      I room = I(a.extent) + 2 * I(a.padding) - o * I(a.stride);
      count = metal::min(steps_in<I>(room - 1, I(a.dilation)) + 1, I(a.window));
    }
    taps.each = V(1.0f) / V(count);
    return taps;
  }
  taps.part.step = 1;
  taps.part.count = 1;
  if (kRule == kResampleNearest) {
    taps.part.first = o * I(a.extent) / I(a.positions);
    return taps;
  }
  if (kRule == kResampleNearestExact) {
    taps.part.first = (2 * o + 1) * I(a.extent) / (2 * I(a.positions));
    return taps;
  }
  I divisor = point_divisor<I>(a, flag);
  I at = o * point_scale<I>(a, flag) + point_shift<I>(a, flag);
  taps.base = floored<I>(at, divisor);
  taps.rest = V(at - taps.base * divisor) / V(divisor);
  I before = kRule == kResampleCubic ? 1 : 0, last = I(a.extent) - 1;
  taps.part.first = metal::min(metal::max(taps.base - before, I(0)), last);
  taps.part.count =
      metal::min(metal::max(taps.base + 1 + before, I(0)), last) - taps.part.first + 1;
  return taps;
}

// The weight of element i. Those beyond the border count as the border.
template <typename V, typename I, int kRule>
HEARTH_INLINE V weight_in(PoolTaps<V, I> taps, constant PoolAxis& a, I i) {
  if (kRule == kResampleMean || kRule == kResampleSum || kRule == kResampleNearest ||
      kRule == kResampleNearestExact) {
    I from = i - taps.part.first;
    bool seen = from >= 0 && from < taps.part.count * taps.part.step &&
                (taps.part.step == 1 || from % taps.part.step == 0);
    return seen ? taps.each : V(0.0f);
  }
  V sum = V(0.0f);
#pragma unroll
  for (int k = -1; k <= 2; ++k) {
    if (kRule == kResampleLinear && (k < 0 || k > 1)) continue;
    V weight = kRule == kResampleCubic ? cubic_weight<V>(taps.rest - V(float(k)))
                                       : (k == 0 ? V(1.0f) - taps.rest : taps.rest);
    if (metal::min(metal::max(taps.base + k, I(0)), I(a.extent) - 1) == i) sum += weight;
  }
  return sum;
}

// The results that element i is part of, some perhaps with a weight of 0.
template <typename I, int kRule>
HEARTH_INLINE PoolPart<I> results_with(constant PoolAxis& a, bool flag, I i) {
  if (kRule == kResampleMean || kRule == kResampleSum) return windows_with<I>(a, i);
  I extent = I(a.extent), positions = I(a.positions);
  I first = 0, end = positions;
  if (kRule == kResampleNearest) {
    first = ceiled<I>(i * positions, extent);
    end = ceiled<I>((i + 1) * positions, extent);
  } else if (kRule == kResampleNearestExact) {
    first = ceiled<I>(2 * i * positions - extent, 2 * extent);
    end = ceiled<I>(2 * (i + 1) * positions - extent, 2 * extent);
  } else {
    // Points whose element below is from i - reach on and below i + reach; borders see all beyond.
    I reach = kRule == kResampleCubic ? 2 : 1;
    I scale = metal::max(point_scale<I>(a, flag), I(1));
    I shift = point_shift<I>(a, flag), divisor = point_divisor<I>(a, flag);
    if (i > 0) first = ceiled<I>((i - reach) * divisor - shift, scale);
    if (i < extent - 1) end = ceiled<I>((i + reach) * divisor - shift, scale);
  }
  PoolPart<I> part;
  part.step = 1;
  part.first = metal::max(first, I(0));
  part.count = metal::min(end, positions) - part.first;
  return part;
}

// The elements of x that results `at` of an axis are made of, and what they weigh.
template <typename V, typename I, int kRule, bool kAdjoint>
struct PoolSide {
  PoolTaps<V, I> taps;
  I at;
  HEARTH_INLINE void set(constant PoolAxis& a, bool flag, I result) {
    at = result;
    if (kAdjoint) {
      taps.part = results_with<I, kRule>(a, flag, result);
    } else {
      taps = taps_of<V, I, kRule>(a, flag, result);
    }
  }
  HEARTH_INLINE I element(I i) const { return taps.part.first + i * taps.part.step; }
  HEARTH_INLINE V weight(constant PoolAxis& a, bool flag, I i) const {
    if (!kAdjoint && kRule != kResampleLinear && kRule != kResampleCubic) return taps.each;
    if (kAdjoint) return weight_in<V, I, kRule>(taps_of<V, I, kRule>(a, flag, element(i)), a, at);
    return weight_in<V, I, kRule>(taps, a, element(i));
  }
};

template <typename D, typename I, int kRule, bool kAdjoint, int kPlanes, bool kPacked>
void resample(device const typename D::memory* x, device typename D::memory* y,
              constant PoolParams& p, Ctx ctx) {
  typedef typename D::value V;
  const int kHeld = 4;  // weights of rows, which every column needs
  // Rows of a window whose loads wait together.
  const int kAtOnce = kAdjoint || (kRule != kResampleMean && kRule != kResampleSum) ? 1
                      : kPlanes >= 4                                                ? 2
                                                                                    : 4;
  PoolPlace<I> place = pool_place<I, kPlanes, kPacked>(p, ctx);
  bool flag = p.flag != 0;
  PoolSide<V, I, kRule, kAdjoint> depth, height, width;
  depth.set(p.axis[0], flag, place.at[0]);
  height.set(p.axis[1], flag, place.at[1]);
  width.set(p.axis[2], flag, place.at[2]);
  V held[kHeld];
#pragma unroll
  for (int b = 0; b < kHeld; ++b) {
    held[b] = b < height.taps.part.count ? height.weight(p.axis[1], flag, I(b)) : V(0.0f);
  }
  I base = I(p.base) + place.outer * I(p.outer_step) + place.plane * I(p.plane_step);
  I step = place.plane_step * I(p.plane_step);
  V sums[kPlanes];
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) sums[k] = V(0.0f);
  for (I a = 0; a < depth.taps.part.count; ++a) {
    V by_depth = depth.weight(p.axis[0], flag, a);
    I slice = base + depth.element(a) * I(p.axis[0].step);
    for (I c = place.lane; c < width.taps.part.count; c += I(1) << int(p.lane_bits)) {
      V by_width = by_depth * width.weight(p.axis[2], flag, c);
      I column = slice + width.element(c) * I(p.axis[2].step);
      I rows = by_width == V(0.0f) ? I(0) : height.taps.part.count;
      for (I b = 0; b < rows; b += kAtOnce) {
        // What has no weight is no part of the result, whatever it is.
        V values[kAtOnce][kPlanes], weights[kAtOnce];
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
          I at = b + u;
          V by_height = at == 0 ? held[0] : at == 1 ? held[1] : at == 2 ? held[2] : held[3];
          if (at >= kHeld && at < rows) by_height = height.weight(p.axis[1], flag, at);
          weights[u] = at < rows ? by_width * by_height : V(0.0f);
          if (weights[u] == V(0.0f)) continue;
          load_planes<D, I, kPlanes, kPacked>(
              values[u], x, column + height.element(at) * I(p.axis[1].step), step, place.planes);
        }
#pragma unroll
        for (int u = 0; u < kAtOnce; ++u) {
          if (weights[u] == V(0.0f)) continue;
#pragma unroll
          for (int k = 0; k < kPlanes; ++k) sums[k] += weights[u] * values[u][k];
        }
      }
    }
  }
  if (p.lane_bits != 0) {
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) {
      for (uint distance = 1u << uint(p.lane_bits); distance > 1u; distance /= 2u) {
        sums[k] += shuffle_xor(sums[k], ushort(distance / 2u));
      }
    }
  }
  if (place.inside && place.lane == 0) {
    store_planes<D, I, kPlanes, kPacked>(sums, y, p, place);
  }
}
