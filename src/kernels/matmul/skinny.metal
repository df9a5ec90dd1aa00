// y = x W' for a few vectors together, f32. Text of the kernel dialect.
//
// x [vectors, length], W [rows, length], y [vectors, rows]; vectors and rows lie element by
// element, their beginnings whole packets of 16 bytes apart; the length is whole packets too. A
// simdgroup has kRows rows of W, which its lanes share out packet by packet; the simdgroups of a
// threadgroup stage the vectors in threadgroup memory together, kSteps packets of a lane of each at
// a time, while the next ones and as many of the rows are on their way. Where there are too few
// rows, threadgroups share the length, and leave their sums in `parts` for matmul_skinny_join().
//
// W is read once, and bound by that up to about 8 vectors. Sums in f32, in an order that depends on
// extents only.

#include "kernels/blocks/rows.h"
#include "kernels/matmul/params.h"

// The sums over all lanes of a simdgroup: lane i gets those from i kTotal / 32 on.
template <int kHalf, int kDistance>
struct SharedSums {
  static HEARTH_INLINE void add(thread float* sums, uint lane) {
    bool upper = (lane & uint(kDistance)) != 0u;
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      float kept = upper ? sums[i + kHalf] : sums[i], given = upper ? sums[i] : sums[i + kHalf];
      sums[i] = kept + shuffle_xor(given, ushort(kDistance));
    }
    SharedSums<kHalf / 2, kDistance / 2>::add(sums, lane);
  }
};
template <int kHalf>
struct SharedSums<kHalf, 0> {
  static HEARTH_INLINE void add(thread float*, uint) {}
};

template <bool kPacked>
HEARTH_INLINE float4 read_four(device const float* from) {
  if (kPacked) return *(device const float4*)from;
  return float4(from[0], from[1], from[2], from[3]);
}

// The packets of the vectors that a thread stages. Vectors that are not there are the last one.
template <bool kPacked, int kSteps, int kMine>
HEARTH_INLINE void read_vectors(thread float4* mine, device const float* x, int at, int last,
                                constant MatmulSkinnyParams& p, Ctx ctx) {
#pragma unroll
  for (int i = 0; i < kMine; ++i) {
    int slot = int(ctx.tid.x) + i * int(ctx.ntid.x);
    int vector = metal::min(slot / (kSteps * 32), int(p.vectors) - 1);
    int column = slot % (kSteps * 32) * 4;
    mine[i] = read_four<kPacked>(x + (long(vector) * p.x_step + metal::min(at + column, last)));
  }
}

// kThreads threads to a threadgroup; `stage` has 64 kSteps kVectors packets. W has kRows rows or
// more.
template <bool kPacked, int kRows, int kVectors, int kSteps, int kThreads>
void matmul_skinny(device const float* w, device const float* x, device float* y,
                   device float* parts, constant MatmulSkinnyParams& p, threadgroup float4* stage,
                   Ctx ctx) {
  const int kStep = 128, kChunk = kSteps * kStep, kTotal = kRows * kVectors;
  const int kPackets = kSteps * 32 * kVectors, kMine = kPackets / kThreads, kOwn = kTotal / 32;
  // The last rows of W may belong to two simdgroups, and are written by the former.
  long own = long(ctx.tg.x * uint(kThreads / 32) + ctx.sg) * kRows;
  long first = metal::min(own, p.rows - kRows);
  long chunks = (p.length + kChunk - 1) / kChunk;
  int begin = int(chunks * long(ctx.tg.y) / p.parts) * kChunk;
  int end = int(metal::min(chunks * long(ctx.tg.y + 1u) / p.parts * kChunk, p.length));
  int last = end - 4, in_step = int(ctx.lane) * 4;
  device const float* rows = w + first * p.row_step;

  float sums[kTotal];
#pragma unroll
  for (int i = 0; i < kTotal; ++i) sums[i] = 0.0f;
  float4 weights[kSteps][kRows];
  float4 mine[kMine];
#pragma unroll
  for (int u = 0; u < kSteps; ++u) {
    device const float* from = rows + metal::min(begin + u * kStep + in_step, last);
#pragma unroll
    for (int j = 0; j < kRows; ++j) weights[u][j] = read_four<kPacked>(from + j * p.row_step);
  }
  read_vectors<kPacked, kSteps, kMine>(mine, x, begin, last, p, ctx);

  int buffer = 0;
#pragma unroll 1
  for (int chunk = begin; chunk < end; chunk += kChunk) {
    threadgroup float4* staged = stage + buffer;
    buffer = kPackets - buffer;
#pragma unroll
    for (int i = 0; i < kMine; ++i) staged[int(ctx.tid.x) + i * kThreads] = mine[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    read_vectors<kPacked, kSteps, kMine>(mine, x, chunk + kChunk, last, p, ctx);
#pragma unroll
    for (int u = 0; u < kSteps; ++u) {
      int at = chunk + u * kStep + in_step;
      if (at < end) {
#pragma unroll
        for (int r = 0; r < kVectors; ++r) {
          float4 factor = staged[(r * kSteps + u) * 32 + int(ctx.lane)];
#pragma unroll
          for (int j = 0; j < kRows; ++j) {
            float sum = sums[r * kRows + j];
            sum = metal::fma(weights[u][j].x, factor.x, sum);
            sum = metal::fma(weights[u][j].y, factor.y, sum);
            sum = metal::fma(weights[u][j].z, factor.z, sum);
            sums[r * kRows + j] = metal::fma(weights[u][j].w, factor.w, sum);
          }
        }
      }
      device const float* from = rows + metal::min(at + kChunk, last);
#pragma unroll
      for (int j = 0; j < kRows; ++j) weights[u][j] = read_four<kPacked>(from + j * p.row_step);
    }
  }

  SharedSums<kTotal / 2, 16>::add(sums, ctx.lane);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    int place = int(ctx.lane) * kOwn + i;
    long vector = long(place / kRows), row = first + long(place % kRows);
    if (vector >= p.vectors || row < own) continue;
    if (p.parts > 1) {
      parts[(long(ctx.tg.y) * p.vectors + vector) * p.rows + row] = sums[i];
    } else {
      y[vector * p.y_step + row] = sums[i];
    }
  }
}

// Adds up the parts in order, an element to a thread.
template <typename T>
void matmul_skinny_join(device const T* parts, device T* y, constant MatmulSkinnyParams& p,
                        Ctx ctx) {
  long count = p.vectors * p.rows, i = long(ctx.gid.x);
  if (i >= count) return;
  T sum = parts[i];
  for (long part = 1; part < p.parts; ++part) sum += parts[part * count + i];
  y[i / p.rows * p.y_step + i % p.rows] = sum;
}
