// C = activation(A B + bias + residual) by simdgroup matrices, batched. Text of the kernel dialect.
//
// a [batch, m, k], b [batch, k, n] with strides of their own, 0 where an operand is broadcast; bias
// [n] and residual [batch, m, n] where they are asked for; c [batch, m, n] with rows c_row apart.
//
// A threadgroup of four simdgroups makes a tile of kTileM x kTileN, each simdgroup a quarter of it:
// two by two, in matrices of 8 x 8 that stay in registers. Slices of kDepth of k go through
// threadgroup memory as type S, along the axis that is dense in memory, 16 bytes a load where
// addresses allow it; what lies outside is never read, and is 0 there. Rows in threadgroup memory
// are 16 bytes longer than their elements, so that the 8 rows of a matrix lie in other banks.
// Results leave by threadgroup memory too, eight rows of a simdgroup at a time, so that
// neighbouring lanes store neighbours and nothing depends on which lane holds what.
//
// Threadgroups walk `panel` rows of tiles column by column, the next panel back again: what they
// read of B and A at one time is small, and the last of it is still in the cache when they turn.
// Where there are too few tiles for the GPU, ctx.tg.y shares k: parts of the sums, each over
// `length` of k, go to memory, and matmul_simdgroup_join adds them in their order.
//
// Memory: each factor once for every tile across it, kTileM kTileN / (kTileM + kTileN)
// multiplications an element; from threadgroup memory kTileM kTileN / (2 (kTileM + kTileN)). Bound:
// arithmetic, where m, n and k are larger than a tile.
//
// Numerics: products and sums in f32, as the hardware adds eight products to a sum, eights of k in
// ascending order; the tile does not change a bit, sharing k does. Then as in matmul.h.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/formulas/activation.h"
#include "kernels/matmul/params.h"

// kLines lines of kLength neighbours to rows kStep apart. The first `lines` and `length` are there:
// `line` apart, their elements `step`.
template <typename D, typename S, int kLines, int kLength, int kStep>
inline void stage_lines(device const typename D::memory* from, long line, long step, bool wide,
                        int lines, int length, threadgroup S* to, int thread_index) {
  const int kThreads = 128, kPacket = 16 / int(sizeof(typename D::memory));
  const int kPackets = kLength / kPacket;
  if (wide) {
    int first = thread_index % kPackets * kPacket;
    long jump = (kThreads / kPackets) * line;
    device const typename D::memory* at = from + (thread_index / kPackets) * line + first;
    for (int i = thread_index / kPackets; i < kLines; i += kThreads / kPackets) {
      threadgroup vec<S, 4>* put = (threadgroup vec<S, 4>*)(to + i * kStep + first);
      if (i < lines && first + kPacket <= length) {
        Packet<16> packet = Packet<16>::read(at);
#pragma unroll
        for (int j = 0; j < kPacket; j += 4) {
          vec<S, 4> four;
          for (int e = 0; e < 4; ++e) four[e] = S(D::get(packet.word, j + e));
          put[j / 4] = four;
        }
      } else {
        for (int j = 0; j < kPacket; j += 4) {
          vec<S, 4> four;
          for (int e = 0; e < 4; ++e) {
            four[e] = i < lines && first + j + e < length ? S(D::load(at[j + e])) : S(0.0f);
          }
          put[j / 4] = four;
        }
      }
      at += jump;
    }
  } else {
    for (int at = thread_index; at < kLines * kLength; at += kThreads) {
      int i = at / kLength, j = at % kLength;
      to[i * kStep + j] = i < lines && j < length ? S(D::load(from[i * line + j * step])) : S(0.0f);
    }
  }
}

// D and S are what memory and threadgroup memory have, O what is stored; kAColumns: columns of A
// are dense, kBColumns: those of B.
template <typename D, typename S, typename O, int kRank, int kTileM, int kTileN, int kDepth,
          bool kAColumns, bool kBColumns, bool kBias, bool kResidual, int kActivation>
void matmul_simdgroup(device const typename D::memory* a, device const typename D::memory* b,
                      device const typename D::memory* bias,
                      device const typename D::memory* residual, device typename O::memory* c,
                      constant SimdgroupMatmulParams<kRank>& p, threadgroup float4* shared,
                      Ctx ctx) {
  const int kPad = 16 / int(sizeof(S));
  const int kAStep = (kAColumns ? kTileM : kDepth) + kPad;
  const int kBStep = (kBColumns ? kDepth : kTileN) + kPad;
  const int kRows = kTileM / 2, kColumns = kTileN / 2, kOutStep = kColumns + 4;
  const int kM = kRows / 8, kN = kColumns / 8;
  threadgroup S* a_tile = (threadgroup S*)shared;
  threadgroup S* b_tile = a_tile + (kAColumns ? kDepth : kTileM) * kAStep;
  threadgroup float* out = (threadgroup float*)shared + int(ctx.sg) * 8 * kOutStep;

  uint across = uint((p.n + kTileN - 1) / kTileN), down = uint((p.m + kTileM - 1) / kTileM);
  uint panel = ctx.tg.x / (uint(p.panel) * across);
  uint in_panel = ctx.tg.x - panel * uint(p.panel) * across;
  uint height = metal::min(uint(p.panel), down - panel * uint(p.panel));
  uint turn = in_panel / height;
  long row = long(panel * uint(p.panel) + in_panel % height) * kTileM;
  long col = long(panel % 2u == 0u ? turn : across - 1u - turn) * kTileN;
  int rows = int(metal::min(p.m - row, long(kTileM)));
  int cols = int(metal::min(p.n - col, long(kTileN)));
  int own_row = int(ctx.sg) / 2 * kRows, own_col = int(ctx.sg) % 2 * kColumns;
  long begin = long(ctx.tg.y) * p.length, end = metal::min(begin + p.length, p.k);

  for (long batch = long(ctx.tg.z); batch < p.batches; batch += long(ctx.ntg.z)) {
    device const typename D::memory* a_at =
        a + offset_of<ulong, kRank>(ulong(batch), p.a) + row * p.a_row + begin * p.a_col;
    device const typename D::memory* b_at =
        b + offset_of<ulong, kRank>(ulong(batch), p.b) + begin * p.b_row + col * p.b_col;
    simdgroup_matrix<float, 8, 8> sum[kM][kN];
#pragma unroll
    for (int i = 0; i < kM; ++i) {
#pragma unroll
      for (int j = 0; j < kN; ++j) sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    for (long at = begin; at < end; at += kDepth) {
      int depth = int(metal::min(end - at, long(kDepth)));
      if (kAColumns) {
        stage_lines<D, S, kDepth, kTileM, kAStep>(a_at, p.a_col, p.a_row, p.a_wide != 0, depth,
                                                  rows, a_tile, int(ctx.tid.x));
      } else {
        stage_lines<D, S, kTileM, kDepth, kAStep>(a_at, p.a_row, p.a_col, p.a_wide != 0, rows,
                                                  depth, a_tile, int(ctx.tid.x));
      }
      if (kBColumns) {
        stage_lines<D, S, kTileN, kDepth, kBStep>(b_at, p.b_col, p.b_row, p.b_wide != 0, cols,
                                                  depth, b_tile, int(ctx.tid.x));
      } else {
        stage_lines<D, S, kDepth, kTileN, kBStep>(b_at, p.b_row, p.b_col, p.b_wide != 0, depth,
                                                  cols, b_tile, int(ctx.tid.x));
      }
      a_at += kDepth * p.a_col;
      b_at += kDepth * p.b_row;
      threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
      for (int q = 0; q < kDepth; q += 8) {
        simdgroup_matrix<S, 8, 8> left[kM], right[kN];
#pragma unroll
        for (int i = 0; i < kM; ++i) {
          int line = own_row + 8 * i;
          simdgroup_load(left[i], a_tile + (kAColumns ? q * kAStep + line : line * kAStep + q),
                         ulong(kAStep), ulong2(0), kAColumns);
        }
#pragma unroll
        for (int j = 0; j < kN; ++j) {
          int line = own_col + 8 * j;
          simdgroup_load(right[j], b_tile + (kBColumns ? line * kBStep + q : q * kBStep + line),
                         ulong(kBStep), ulong2(0), kBColumns);
        }
#pragma unroll
        for (int i = 0; i < kM; ++i) {
#pragma unroll
          for (int j = 0; j < kN; ++j) {
            simdgroup_multiply_accumulate(sum[i][j], left[i], right[j], sum[i][j]);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    long line = (long(ctx.tg.y) * p.batches + batch) * p.m + row + own_row;
    device typename O::memory* to = c + line * p.c_row + col + own_col;
    device const typename D::memory* bias_at = bias + col + own_col;
    device const typename D::memory* residual_at = residual + line * p.n + col + own_col;
#pragma unroll
    for (int i = 0; i < kM; ++i) {
#pragma unroll
      for (int j = 0; j < kN; ++j) simdgroup_store(sum[i][j], out + 8 * j, ulong(kOutStep));
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (int at = int(ctx.lane); at < 8 * kColumns; at += 32) {
        int r = 8 * i + at / kColumns, x = at % kColumns;
        if (own_row + r >= rows || own_col + x >= cols) continue;
        float value = out[at / kColumns * kOutStep + x];
        if (kBias) value = value + D::load(bias_at[x]);
        if (kResidual) value = value + D::load(residual_at[r * p.n + x]);
        to[r * p.c_row + x] = O::store(Activation<kActivation>::apply(value));
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    // What is staged for the next batch lies where others may still have results.
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

// c = activation(the sum of `shares` parts + bias + residual), one element a thread.
template <typename D, bool kBias, bool kResidual, int kActivation>
void matmul_simdgroup_join(device const float* parts, device const typename D::memory* bias,
                           device const typename D::memory* residual, device typename D::memory* c,
                           constant MatmulJoinParams& p, Ctx ctx) {
  uint at = ctx.gid.x, count = uint(p.lines * p.n);
  if (at >= count) return;
  uint line = at / uint(p.n), x = at - line * uint(p.n);
  float value = parts[at];
  for (long share = 1; share < p.shares; ++share) value = value + parts[share * count + at];
  if (kBias) value = value + D::load(bias[x]);
  if (kResidual) value = value + D::load(residual[at]);
  c[line * p.c_row + x] = D::store(Activation<kActivation>::apply(value));
}
