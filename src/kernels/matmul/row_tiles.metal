// y = x w^T (+ added) of f16 and bf16 by tensor cores, with bits of a row that depend on that row
// only, batched. Text of the kernel dialect.
//
// x [batch, rows, k], w [batch, outputs, k], y and added [batch, rows, outputs] dense; the others
// have strides of their own. A threadgroup makes kOutputTiles * 16 outputs of kRowTiles * 8 rows.
// Slices of 32 of k go to its four simdgroups in turn, each of which makes the whole tile, in a
// chain of products along its slices (blocks/mma.h); the four sums are added up in order. So the
// order is that of k, whatever rows and outputs a tile has: few rows are a small tile, of which
// there are enough to keep memory busy with the weights, and many rows a large one.
//
// In the layout of the product a lane takes 8 values side by side of each of its rows: words 0 and
// 1 are the inner axis of a slice's first product, 2 and 3 that of the second. Nothing is staged:
// what neighbours read again is in the nearest cache. kWide: lines of x and w are whole packets of
// 16 bytes, at multiples of these.
//
// Memory: weights once for the rows of a tile. Bound by it for few rows; for many by the nearest
// cache, from which comes a byte for each 85 multiplications.

#include "kernels/blocks/mma.h"
#include "kernels/blocks/strided.h"
#include "kernels/matmul/params.h"

enum { kSliceLength = 32, kSliceShare = 8, kTileParts = 4 };

// Elements at, at + 1... of a line; what lies beyond `length` is 0.
template <typename D, bool kWide>
HEARTH_INLINE Packet<16> load_share(device const typename D::memory* line, int at, int length,
                                    long step) {
  Packet<16> made;
  if (kWide) {
    if (at < length) return Packet<16>::read(line + at);
#pragma unroll
    for (int i = 0; i < 4; ++i) made.word[i] = 0u;
  } else {
#pragma unroll
    for (int i = 0; i < int(kSliceShare); ++i) {
      D::put(made.word, i, at + i < length ? D::load(line[long(at + i) * step]) : 0.0f);
    }
  }
  return made;
}

// What a lane has of a slice.
template <int kOutputTiles, int kRowTiles>
struct SliceShare {
  Packet<16> weights[2 * kOutputTiles];
  Packet<16> factors[kRowTiles];
};

// kAhead slices are on their way at a time. `parts` has the sums of all simdgroups.
template <typename D, int kOutputTiles, int kRowTiles, int kAhead, bool kAdded, bool kWide,
          int kRank>
void matmul_row_tiles(device const typename D::memory* x, device const typename D::memory* w,
                      device const typename D::memory* added, device typename D::memory* y,
                      constant RowProductParams<kRank>& p, threadgroup float* parts, Ctx ctx) {
  const int kTileOutputs = 16 * kOutputTiles, kTileRows = 8 * kRowTiles;
  uint layers = uint((p.rows + kTileRows - 1) / kTileRows);
  long first_output = long(ctx.tg.x / layers) * kTileOutputs;
  long first_row = long(ctx.tg.x % layers) * kTileRows;
  uint g = ctx.lane / 4u, t = ctx.lane % 4u;
  int length = int(p.length);
  const int kStep = int(kTileParts) * int(kSliceLength);
  for (long batch = long(ctx.tg.y); batch < p.batches; batch += long(ctx.ntg.y)) {
    device const typename D::memory* x_at = x + offset_of<ulong, kRank>(ulong(batch), p.x);
    device const typename D::memory* w_at = w + offset_of<ulong, kRank>(ulong(batch), p.w);
    // Rows and outputs that are not there are the last ones, and not stored.
    device const typename D::memory* outputs[2 * kOutputTiles];
    device const typename D::memory* rows[kRowTiles];
#pragma unroll
    for (int i = 0; i < 2 * kOutputTiles; ++i) {
      outputs[i] = w_at + metal::min(first_output + 8 * i + long(g), p.outputs - 1) * p.w_row;
    }
#pragma unroll
    for (int j = 0; j < kRowTiles; ++j) {
      rows[j] = x_at + metal::min(first_row + 8 * j + long(g), p.rows - 1) * p.x_row;
    }
    float4 sum[kOutputTiles][kRowTiles];
#pragma unroll
    for (int i = 0; i < kOutputTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kRowTiles; ++j) sum[i][j] = float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    SliceShare<kOutputTiles, kRowTiles> held[kAhead];
    int begin = int(ctx.sg) * int(kSliceLength);
#pragma unroll 1
    for (int slice = begin - kAhead * kStep; slice < length; slice += kAhead * kStep) {
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        int from = slice + u * kStep, next = from + kAhead * kStep + int(t) * int(kSliceShare);
        // A slice that is not there adds nothing, not even the sign of a 0.
        if (from >= begin && from < length) {
#pragma unroll
          for (int i = 0; i < kOutputTiles; ++i) {
            Packet<16> upper = held[u].weights[2 * i], lower = held[u].weights[2 * i + 1];
#pragma unroll
            for (int j = 0; j < kRowTiles; ++j) {
              Packet<16> factor = held[u].factors[j];
#pragma unroll
              for (int e = 0; e < 4; e += 2) {
                sum[i][j] = tile_product<D>(
                    uint4(upper.word[e], lower.word[e], upper.word[e + 1], lower.word[e + 1]),
                    uint2(factor.word[e], factor.word[e + 1]), sum[i][j], ctx.lane);
              }
            }
          }
        }
        // In its place the one that follows: it is on its way while others are multiplied.
#pragma unroll
        for (int i = 0; i < 2 * kOutputTiles; ++i) {
          held[u].weights[i] = load_share<D, kWide>(outputs[i], next, length, p.w_column);
        }
#pragma unroll
        for (int j = 0; j < kRowTiles; ++j) {
          held[u].factors[j] = load_share<D, kWide>(rows[j], next, length, p.x_column);
        }
      }
    }
    // Of a simdgroup [row, output].
    threadgroup float* own = parts + int(ctx.sg) * kTileRows * kTileOutputs;
#pragma unroll
    for (int i = 0; i < kOutputTiles; ++i) {
#pragma unroll
      for (int j = 0; j < kRowTiles; ++j) {
        threadgroup float* at = own + (8 * j + 2 * int(t)) * kTileOutputs + 16 * i + int(g);
        at[0] = sum[i][j].x;
        at[kTileOutputs] = sum[i][j].y;
        at[8] = sum[i][j].z;
        at[kTileOutputs + 8] = sum[i][j].w;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int i = int(ctx.tid.x); i < kTileRows * kTileOutputs; i += int(ctx.ntid.x)) {
      long row = first_row + i / kTileOutputs, output = first_output + i % kTileOutputs;
      if (row >= p.rows || output >= p.outputs) continue;
      float total = parts[i];
#pragma unroll
      for (int part = 1; part < int(kTileParts); ++part) {
        total = total + parts[part * kTileRows * kTileOutputs + i];
      }
      long at = (batch * p.rows + row) * p.outputs + output;
      if (kAdded) total += D::load(added[at]);
      y[at] = D::store(total);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
