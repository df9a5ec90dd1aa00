// expert_linear_weight_gradient: of each expert the sum over its pairs of grad[pair] times x[row].
// Text of the kernel dialect.
//
// Pairs are in the order of their experts (groups.metal). A threadgroup of 256 threads makes a tile
// of 32 x 64 of one expert's gradient, with slices of 32 pairs in threadgroup memory. Sums are
// chains of fused multiply-adds over an expert's pairs in order. Bound by arithmetic, of few pairs
// by writing.

#include "kernels/experts/tiles.metal"

template <typename D>
void expert_weight_gradient(device const typename D::memory* x,
                            device const typename D::memory* grad, device const int* pairs,
                            device const int* firsts, device typename D::memory* y,
                            constant ExpertGradientParams& p,
                            threadgroup typename D::value* grad_slice,
                            threadgroup typename D::value* x_slice, Ctx ctx) {
  typedef typename D::value V;
  const uint kOfGrad = 4u, kOfX = 8u;
  long row = long(ctx.tg.y) * kExpertTileRows, column = long(ctx.tg.x) * kExpertTileColumns;
  uint t = ctx.tid.x, slice_pair = t / 8u;
  uint grad_first = t % 8u * kOfGrad, x_first = t % 8u * kOfX;
  uint thread_row = t / 16u, thread_column = t % 16u;
  for (long expert = long(ctx.tg.z); expert < p.experts; expert += long(ctx.ntg.z)) {
    device const int* own = pairs + firsts[2 * expert];
    uint count = uint(firsts[2 * expert + 1]);
    ExpertSums<V> sums;
    sums.clear();
    for (uint k = 0u; k < count; k += uint(kExpertTileDepth)) {
      bool has_pair = k + slice_pair < count;
      uint pair = has_pair ? uint(own[k + slice_pair]) : 0u;
      long place = long(pair / uint(p.used)), u = long(pair % uint(p.used));
      device const typename D::memory* grads = grad + (p.g_base + place * p.g_row + u * p.g_step);
      device const typename D::memory* from = x + (p.x_base + place * p.x_row + u * p.x_step);
#pragma unroll
      for (uint i = 0u; i < kOfGrad; ++i) {
        long at = row + long(grad_first + i);
        grad_slice[slice_pair * uint(kExpertXStride) + grad_first + i] =
            has_pair && at < p.out ? D::load(grads[at * p.g_column]) : V(0);
      }
#pragma unroll
      for (uint i = 0u; i < kOfX; ++i) {
        long at = column + long(x_first + i);
        x_slice[slice_pair * uint(kExpertWeightStride) + x_first + i] =
            has_pair && at < p.in ? D::load(from[at * p.x_column]) : V(0);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      sums.add(grad_slice, x_slice, thread_row, thread_column);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#pragma unroll
    for (int i = 0; i < int(kExpertDown); ++i) {
      long at_row = row + long(thread_row) + 16 * i;
      if (at_row >= p.out) continue;
#pragma unroll
      for (int j = 0; j < int(kExpertAcross); ++j) {
        long at = column + long(thread_column) + 16 * j;
        if (at < p.in) y[(expert * p.out + at_row) * p.in + at] = D::store(sums.at[i][j]);
      }
    }
  }
}
