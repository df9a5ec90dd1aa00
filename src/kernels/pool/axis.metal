// Spatial axes of pools and resampling, and which results a thread makes. Text of the kernel
// dialect.
//
// What an element is made of follows from integers alone, as on the host (ops/pool/axis_window.h,
// ops/image/axis_taps.cc). I is int where all of them, and all offsets, fit; else long.

#include "kernels/blocks/divisor.h"
#include "kernels/pool/params.h"

// `part` is positive.
template <typename I>
HEARTH_INLINE I floored(I whole, I part) {
  I quotient = whole / part;
  return quotient * part > whole ? quotient - 1 : quotient;
}
template <typename I>
HEARTH_INLINE I ceiled(I whole, I part) {
  return -floored<I>(-whole, part);
}

// Elements first, first + step, ... of a window.
template <typename I>
struct PoolPart {
  I first, count, step;
};

// Neither is negative. Most windows have no gaps: the branch is the same in all threads.
template <typename I>
HEARTH_INLINE I steps_in(I distance, I dilation) {
  return dilation == 1 ? distance : distance / dilation;
}

template <typename I>
HEARTH_INLINE PoolPart<I> part_of(constant PoolAxis& a, I o) {
  PoolPart<I> part;
  I extent = I(a.extent), window = I(a.window);
  if (window == 0) {
    part.first = divided(o * extent, a.by_positions);
    part.count = divided((o + 1) * extent - 1, a.by_positions) + 1 - part.first;
    part.step = 1;
    return part;
  }
  I dilation = I(a.dilation);
  I start = o * I(a.stride) - I(a.padding);
  I skipped = start < 0 ? steps_in<I>(dilation - 1 - start, dilation) : I(0);
  part.step = dilation;
  part.first = start + skipped * dilation;
  I inside = part.first < extent ? steps_in<I>(extent - part.first - 1, dilation) + 1 : I(0);
  part.count = metal::max(metal::min(inside, window - skipped), I(0));
  return part;
}

// The windows that element i may be part of.
template <typename I>
HEARTH_INLINE PoolPart<I> windows_with(constant PoolAxis& a, I i) {
  PoolPart<I> part;
  I first, end, positions = I(a.positions);
  if (a.window != 0) {
    I stride = I(a.stride), at = i + I(a.padding);
    first = ceiled<I>(at - (I(a.window) - 1) * I(a.dilation), stride);
    end = floored<I>(at, stride) + 1;
  } else {
    first = i * positions / I(a.extent);
    end = ceiled<I>((i + 1) * positions, I(a.extent));
  }
  part.step = 1;
  part.first = metal::max(first, I(0));
  part.count = metal::min(end, positions) - part.first;
  return part;
}

// What a thread makes: the elements at `at` of planes plane, plane + plane_step... below the end of
// their chunk.
template <typename I>
struct PoolPlace {
  I outer, plane, plane_step;
  I at[3];
  int planes;  // that exist
  I lane;
  bool inside;
};

HEARTH_INLINE ulong thread_of(Ctx ctx, int) { return ulong(ctx.gid.x); }
HEARTH_INLINE ulong thread_of(Ctx ctx, long) {
  return ulong(ctx.tg.x) * ulong(ctx.ntid.x) + ulong(ctx.tid.x);
}
template <typename I>
struct PoolCount;
template <>
struct PoolCount<int> {
  typedef uint type;
};
template <>
struct PoolCount<long> {
  typedef ulong type;
};

template <typename I>
HEARTH_INLINE I split_off(thread typename PoolCount<I>::type& i, constant Divisor& by) {
  typedef typename PoolCount<I>::type U;
  if (by.extent == 1) return I(0);
  U rest = divided(i, by);
  I at = I(i - rest * U(by.extent));
  i = rest;
  return at;
}

template <typename I, int kPlanes, bool kPacked>
HEARTH_INLINE PoolPlace<I> pool_place(constant PoolParams& p, Ctx ctx) {
  typedef typename PoolCount<I>::type U;
  PoolPlace<I> place;
  ulong thread_at = thread_of(ctx, I(0));
  ulong item = thread_at >> uint(p.lane_bits);
  place.lane = I(thread_at - (item << uint(p.lane_bits)));
  place.inside = item < ulong(p.count);
  U i = place.inside ? U(item) : U(0);
  I chunk = 0;
  if (p.planes_first != 0) chunk = split_off<I>(i, p.by_chunks);
  place.at[2] = split_off<I>(i, p.axis[2].by_results);
  place.at[1] = split_off<I>(i, p.axis[1].by_results);
  place.at[0] = split_off<I>(i, p.axis[0].by_results);
  if (p.planes_first == 0) chunk = split_off<I>(i, p.by_chunks);
  place.outer = I(i);
  place.plane = kPacked ? chunk * kPlanes : chunk;
  place.plane_step = kPacked ? I(1) : I(p.chunks);
  I left = I(p.planes) - place.plane;
  place.planes =
      kPacked ? kPlanes : int(metal::min(divided(left - 1, p.by_chunks) + 1, I(kPlanes)));
  return place;
}

// The elements of all planes of a thread at offset `from`; of those that do not exist 0.
template <typename D, typename I, int kPlanes, bool kPacked>
HEARTH_INLINE void load_planes(thread typename D::value* values, device const typename D::memory* x,
                               I from, I step, int planes) {
  if (kPacked) {
    const int kBytes = kPlanes * int(sizeof(typename D::memory));
    Packet<kPacked ? kBytes : 4> packet = Packet < kPacked ? kBytes : 4 > ::read(x + from);
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) values[k] = D::get(packet.word, k);
  } else {
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) {
      values[k] = k < planes ? D::load(x[from + I(k) * step]) : typename D::value(0);
    }
  }
}

template <typename D, typename I, int kPlanes, bool kPacked>
HEARTH_INLINE void store_planes(thread const typename D::value* values,
                                device typename D::memory* y, constant PoolParams& p,
                                PoolPlace<I> place) {
  I to = place.outer * I(p.to_outer_step) + place.plane * I(p.to_plane_step);
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) to += place.at[axis] * I(p.axis[axis].to_step);
  if (kPacked && p.packed_result != 0) {
    const int kBytes = kPlanes * int(sizeof(typename D::memory));
    Packet<kPacked ? kBytes : 4> packet;
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) D::put(packet.word, k, values[k]);
    packet.write(y + to);
  } else {
    I step = place.plane_step * I(p.to_plane_step);
#pragma unroll
    for (int k = 0; k < kPlanes; ++k) {
      if (k < place.planes) y[to + I(k) * step] = D::store(values[k]);
    }
  }
}
