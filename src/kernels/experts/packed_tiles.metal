// packed_expert_linear of many pairs of rows and experts. Text of the kernel dialect.
//
// As expert_tiles() of tiles.metal; of blocks, the floats that they stand for go to threadgroup
// memory. Bound by arithmetic.

#include "kernels/experts/tiles.metal"
#include "kernels/formulas/packed/formats.h"

using namespace packed_formats;

// Weights in blocks; rows are whole ones.
template <typename F>
struct PackedExpert {
  device const uchar* first;
  long row;

  template <typename V>
  HEARTH_INLINE void piece(uint output, uint k, uint in, thread V* to) const {
#pragma unroll
    for (int i = 0; i < int(kExpertPiece); ++i) to[i] = V(0);
    if (k >= in) return;
    uint block = k / uint(F::elements);
    elements_of<F, uint(kExpertPiece)>(first + (long(output) * row + long(block) * long(F::bytes)),
                                       k % uint(F::elements), to);
  }
};

template <typename F, typename D, bool kBias>
void expert_tiles_packed(device const typename D::memory* x, device const uchar* weight,
                         device const int* pairs, device const int* slots,
                         device const typename D::memory* bias, device typename D::memory* y,
                         constant ExpertTileParams& p, threadgroup typename D::value* x_slice,
                         threadgroup typename D::value* weight_slice, Ctx ctx) {
  for (long slot = long(ctx.tg.y); slot < p.slots; slot += long(ctx.ntg.y)) {
    long expert = long(slots[3 * slot]);
    device const int* own = pairs + slots[3 * slot + 1];
    uint rows = uint(slots[3 * slot + 2]);
    if (rows == 0u) continue;
    if (expert == p.experts) {
      clear_tile<D>(own, rows, y, p, ctx);
      continue;
    }
    PackedExpert<F> from;
    from.first = weight + (p.w_base + expert * p.w_expert);
    from.row = p.w_row;
    multiply_tile<D, kBias>(x, from, own, rows, bias + (kBias ? p.b_base + expert * p.b_expert : 0),
                            y, p, x_slice, weight_slice, ctx);
  }
}
