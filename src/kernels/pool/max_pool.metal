// max_pool, with and without indices, and its gradient. Text of the kernel dialect.
//
// A thread makes the results at one position of several planes, so that what follows from the
// position is worked out once; all planes are read at a time. Where channels lie together in memory
// neighbouring threads are of neighbouring planes, and planes are read in packets (kPacked). Bound
// by memory: neighbouring windows share what they read in a cache.

#include "kernels/pool/axis.metal"

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

// The largest element of each window, and its place in its plane; -1 where there is none.
template <typename D, typename I, int kPlanes, bool kPacked>
HEARTH_INLINE void largest_of(thread typename D::value* best, thread I* found,
                              device const typename D::memory* x, constant PoolParams& p,
                              PoolPlace<I> place) {
  typedef typename D::value V;
  PoolPart<I> width = part_of<I>(p.axis[2], place.at[2]);
  PoolPart<I> height = part_of<I>(p.axis[1], place.at[1]);
  PoolPart<I> depth = part_of<I>(p.axis[0], place.at[0]);
  I base = I(p.base) + place.outer * I(p.outer_step) + place.plane * I(p.plane_step);
  I step = place.plane_step * I(p.plane_step);
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) {
    best[k] = PoolLeast<V>::of(p.least);
    found[k] = -1;
  }
  for (I a = 0; a < depth.count; ++a) {
    I d = depth.first + a * depth.step;
    for (I b = 0; b < height.count; ++b) {
      I h = height.first + b * height.step;
      I row = base + d * I(p.axis[0].step) + h * I(p.axis[1].step);
      I at = (d * I(p.axis[1].extent) + h) * I(p.axis[2].extent);
      for (I c = 0; c < width.count; ++c) {
        I w = width.first + c * width.step;
        V values[kPlanes];
        load_planes<D, I, kPlanes, kPacked>(values, x, row + w * I(p.axis[2].step), step,
                                            place.planes);
#pragma unroll
        for (int k = 0; k < kPlanes; ++k) {
          V value = values[k];
          bool wins = found[k] < 0 || value > best[k] || (value != value && best[k] == best[k]);
          best[k] = wins ? value : best[k];
          found[k] = wins ? at + w : found[k];
        }
      }
    }
  }
}

template <typename D, typename I, int kPlanes, bool kPacked>
void max_pool(device const typename D::memory* x, device typename D::memory* y,
              constant PoolParams& p, Ctx ctx) {
  PoolPlace<I> place = pool_place<I, kPlanes, kPacked>(p, ctx);
  if (!place.inside) return;
  typename D::value best[kPlanes];
  I found[kPlanes];
  largest_of<D, I, kPlanes, kPacked>(best, found, x, p, place);
  store_planes<D, I, kPlanes, kPacked>(best, y, p, place);
}

template <typename D, typename I, int kPlanes, bool kPacked>
void max_pool_indexed(device const typename D::memory* x, device typename D::memory* y,
                      device long* places, constant PoolParams& p, Ctx ctx) {
  PoolPlace<I> place = pool_place<I, kPlanes, kPacked>(p, ctx);
  if (!place.inside) return;
  typename D::value best[kPlanes];
  I found[kPlanes];
  largest_of<D, I, kPlanes, kPacked>(best, found, x, p, place);
  store_planes<D, I, kPlanes, kPacked>(best, y, p, place);
  I to = place.outer * I(p.places_outer_step) + place.plane * I(p.places_plane_step);
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) to += place.at[axis] * I(p.axis[axis].places_step);
  I step = place.plane_step * I(p.places_plane_step);
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) {
    if (k < place.planes) places[to + I(k) * step] = long(found[k]);
  }
}

// Whether element i, which is between the ends of window o, is in one of its gaps.
template <typename I>
HEARTH_INLINE bool is_gap(constant PoolAxis& a, I o, I i) {
  return (i + I(a.padding) - o * I(a.stride)) % I(a.dilation) != 0;
}

// y[i] is the sum of the gradients of the windows with element i whose index is i, in their order.
// kGaps: indices may be of gaps.
template <typename D, typename I, bool kGaps, int kPlanes>
void max_pool_backward(device const typename D::memory* grad, device const long* places,
                       device typename D::memory* y, constant PoolParams& p, Ctx ctx) {
  typedef typename D::value V;
  PoolPlace<I> place = pool_place<I, kPlanes, false>(p, ctx);
  if (!place.inside) return;
  PoolPart<I> width = windows_with<I>(p.axis[2], place.at[2]);
  PoolPart<I> height = windows_with<I>(p.axis[1], place.at[1]);
  PoolPart<I> depth = windows_with<I>(p.axis[0], place.at[0]);
  I base = I(p.base) + place.outer * I(p.outer_step) + place.plane * I(p.plane_step);
  I places_base = I(p.places_base) + place.outer * I(p.places_outer_step) +
                  place.plane * I(p.places_plane_step);
  I step = place.plane_step * I(p.plane_step);
  I places_step = place.plane_step * I(p.places_plane_step);
  long own =
      long((place.at[0] * I(p.axis[1].extent) + place.at[1]) * I(p.axis[2].extent) + place.at[2]);
  V sums[kPlanes];
#pragma unroll
  for (int k = 0; k < kPlanes; ++k) sums[k] = V(0);
  for (I a = 0; a < depth.count; ++a) {
    I d = depth.first + a;
    if (kGaps && is_gap<I>(p.axis[0], d, place.at[0])) continue;
    for (I b = 0; b < height.count; ++b) {
      I h = height.first + b;
      if (kGaps && is_gap<I>(p.axis[1], h, place.at[1])) continue;
      for (I c = 0; c < width.count; ++c) {
        I w = width.first + c;
        if (kGaps && is_gap<I>(p.axis[2], w, place.at[2])) continue;
        I from = base + d * I(p.axis[0].step) + h * I(p.axis[1].step) + w * I(p.axis[2].step);
        I where = places_base + d * I(p.axis[0].places_step) + h * I(p.axis[1].places_step) +
                  w * I(p.axis[2].places_step);
#pragma unroll
        for (int k = 0; k < kPlanes; ++k) {
          if (k < place.planes && places[where + I(k) * places_step] == own) {
            sums[k] += D::load(grad[from + I(k) * step]);
          }
        }
      }
    }
  }
  store_planes<D, I, kPlanes, false>(sums, y, p, place);
}
