// The Walsh-Hadamard transform of blocks of rows. Text of the kernel dialect.
//
//   y[i] = factor * sum over j of (-1)^(bits that i and j share) x[j]
//
// kLanes lanes of a simdgroup have a block, kHold elements each, kLanes apart: butterflies of
// elements that a lane has are local, the others exchange with a lane. One read and one write; no
// barrier. Bound by memory. Sums are f32, of f64 f64.

#include "kernels/blocks/dynamics.h"
#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/hadamard/params.h"

template <typename V>
struct HadamardFactor {
  static HEARTH_INLINE V of(long word) { return V(dynamic_float(ulong(word))); }
};
#if HEARTH_HAS_F64
template <>
struct HadamardFactor<double> {
  static HEARTH_INLINE double of(long word) { return as_type<double>(ulong(word)); }
};
#endif

template <typename D, int kLanes, int kHold, int kRank>
void hadamard(device const typename D::memory* x, device typename D::memory* y,
              constant HadamardParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  ulong block = (ulong(ctx.tg.x) * ctx.ntid.x + ctx.tid.x) / kLanes;
  int lane = int(ctx.lane) % kLanes;
  bool inside = block < ulong(p.blocks);
  ulong line = inside ? block / ulong(p.row_blocks) : 0;
  long first = inside ? long(block - line * ulong(p.row_blocks)) * (kLanes * kHold) + lane : 0;
  device const typename D::memory* from = x + offset_of<ulong, kRank>(line, p.x) + first * p.step;
  V held[kHold];
#pragma unroll
  for (int i = 0; i < kHold; ++i) {
    held[i] = inside ? D::load(from[long(i * kLanes) * p.step]) : V(0.0f);
  }
#pragma unroll
  for (int distance = 1; distance < kHold; distance *= 2) {
#pragma unroll
    for (int i = 0; i < kHold; ++i) {
      if ((i & distance) == 0) {
        V a = held[i], b = held[i + distance];
        held[i] = a + b;
        held[i + distance] = a - b;
      }
    }
  }
#pragma unroll
  for (int distance = 1; distance < kLanes; distance *= 2) {
    bool upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < kHold; ++i) {
      V other = shuffle_xor(held[i], ushort(distance));
      held[i] = upper ? other - held[i] : held[i] + other;
    }
  }
  if (!inside) return;
  V factor = HadamardFactor<V>::of(p.factor);
  device typename D::memory* to = y + block * ulong(kLanes * kHold) + ulong(lane);
#pragma unroll
  for (int i = 0; i < kHold; ++i) to[i * kLanes] = D::store(held[i] * factor);
}
