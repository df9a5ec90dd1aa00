// C = activation(A B + bias + residual) for every dtype and any strides, batched. Text of the
// kernel dialect.
//
// bias [n], residual [batch, m, n] and activation are for float dtypes, where they are asked for.
// c [batch, m, n] with rows c_row apart, all else of it and residual dense; a [batch, m, k],
// b [batch, k, n] with strides of their own, 0 where an operand is broadcast. A threadgroup of 16 x
// 16 threads makes a tile of 64 x 64: sixteen elements a thread in registers, slices of 16 of k
// through threadgroup memory. Sums are kept in the type A: float for the small floats, unsigned
// integers wrap. Where a library or tensor cores serve a dtype, they do it better; this is for what
// they do not take.

#include "kernels/blocks/strided.h"
#include "kernels/formulas/activation.h"
#include "kernels/matmul/params.h"

inline float multiply_add(float a, float b, float c) { return metal::fma(a, b, c); }
#if HEARTH_HAS_F64
inline double multiply_add(double a, double b, double c) { return metal::fma(a, b, c); }
#endif
template <typename A>
inline A multiply_add(A a, A b, A c) {
  return A(a * b + c);
}

template <typename T, typename A, int kRank, bool kBias, bool kResidual, int kActivation>
void matmul(device const T* a, device const T* b, device const T* bias, device const T* residual,
            device T* c, constant MatmulParams<kRank>& p, threadgroup A* a_tile,
            threadgroup A* b_tile, Ctx ctx) {
  const int kTile = 64, kDepth = 16, kPart = 4;
  long row = long(ctx.tg.y) * kTile, col = long(ctx.tg.x) * kTile;
  int thread_row = int(ctx.tid.x) / 16, thread_col = int(ctx.tid.x) % 16;
  for (long batch = long(ctx.tg.z); batch < p.batches; batch += long(ctx.ntg.z)) {
    device const T* a_at = a + offset_of<ulong, kRank>(ulong(batch), p.a);
    device const T* b_at = b + offset_of<ulong, kRank>(ulong(batch), p.b);
    A sum[kPart][kPart];
    for (int i = 0; i < kPart; ++i) {
      for (int j = 0; j < kPart; ++j) sum[i][j] = A(0);
    }
    for (long p0 = 0; p0 < p.k; p0 += kDepth) {
      for (int at = int(ctx.tid.x); at < kTile * kDepth; at += 256) {
        // Neighbouring threads take neighbouring elements of whichever axis is contiguous.
        int i = p.a_col == 1 ? at / kDepth : at % kTile;
        int q = p.a_col == 1 ? at % kDepth : at / kTile;
        bool inside = row + i < p.m && p0 + q < p.k;
        a_tile[q * kTile + i] = inside ? A(a_at[(row + i) * p.a_row + (p0 + q) * p.a_col]) : A(0);
        int j = p.b_row == 1 ? at / kDepth : at % kTile;
        int r = p.b_row == 1 ? at % kDepth : at / kTile;
        inside = col + j < p.n && p0 + r < p.k;
        b_tile[r * kTile + j] = inside ? A(b_at[(p0 + r) * p.b_row + (col + j) * p.b_col]) : A(0);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (int q = 0; q < kDepth; ++q) {
        A left[kPart], right[kPart];
        for (int i = 0; i < kPart; ++i) left[i] = a_tile[q * kTile + thread_row + 16 * i];
        for (int j = 0; j < kPart; ++j) right[j] = b_tile[q * kTile + thread_col + 16 * j];
        for (int i = 0; i < kPart; ++i) {
          for (int j = 0; j < kPart; ++j) sum[i][j] = multiply_add(left[i], right[j], sum[i][j]);
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (int i = 0; i < kPart; ++i) {
      long at_row = row + thread_row + 16 * i;
      if (at_row >= p.m) continue;
      device T* to = c + (batch * p.m + at_row) * p.c_row;
      device const T* residual_at = residual + (batch * p.m + at_row) * p.n;
      for (int j = 0; j < kPart; ++j) {
        long at_col = col + thread_col + 16 * j;
        if (at_col >= p.n) continue;
        A value = sum[i][j];
        if (kBias) value = A(value + A(bias[at_col]));
        if (kResidual) value = A(value + A(residual_at[at_col]));
        to[at_col] = T(Activation<kActivation>::apply(value));
      }
    }
  }
}
