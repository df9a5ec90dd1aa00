// cdist of f16 and bf16, p = 2, by tensor cores: y[i, j] = sqrt(|a[i]|^2 + |b[j]|^2 - 2 a[i] b[j]).
// Text of the kernel dialect.
//
// A threadgroup of four simdgroups makes 64 x 64 results, each simdgroup 32 x 32. Of every 32
// columns a lane loads 16 bytes of each of its rows, in the order of kernels/blocks/mma.h, and
// exchanges none; neighbours find what they share in a cache. Bound by what waits for loads.
//
// Products of 16 bits are exact in f32. Sums of 256 columns are added to those before, so that
// errors grow slowly with the number of columns. What is left of the squares after the subtraction
// may be as little as kNear of them: then, or where squares overflow or vanish, a simdgroup sums
// the squares of differences instead, which loses nothing.

#include "kernels/blocks/mma.h"
#include "kernels/blocks/strided.h"
#include "kernels/cdist/params.h"
#include "kernels/formulas/formulas.h"

enum { kCdistSide = 32, kCdistSlices = 8 };  // of a simdgroup; slices that are summed by themselves

template <typename D>
HEARTH_INLINE float squares_of(Packet<16> packet, float sum) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float value = D::get(packet.word, i);
    sum = metal::fma(value, value, sum);
  }
  return sum;
}

// 8 columns of a row from `column` on, 0 behind its end.
template <typename D>
HEARTH_INLINE Packet<16> columns_at(device const typename D::memory* row, long column,
                                    long length) {
  if (column < length) return Packet<16>::read(row + column);
  Packet<16> none;
#pragma unroll
  for (int w = 0; w < 4; ++w) none.word[w] = 0u;
  return none;
}

// The sum of the squares of differences, by all lanes.
template <typename D>
HEARTH_INLINE float squared_distance(device const typename D::memory* x,
                                     device const typename D::memory* z, long length, uint lane) {
  float sum = 0.0f;
  for (long column = 8 * long(lane); column < length; column += 8 * 32) {
    Packet<16> left = Packet<16>::read(x + column), right = Packet<16>::read(z + column);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float difference = D::get(left.word, i) - D::get(right.word, i);
      sum = metal::fma(difference, difference, sum);
    }
  }
  return simd_sum(sum);
}

template <typename D, int kRank>
void cdist_mma(device const typename D::memory* a, device const typename D::memory* b,
               device typename D::memory* y, constant CdistParams<kRank>& p, Ctx ctx) {
  typedef typename D::memory M;
  const float kNear = 0.015625f, kTiny = 1e-27f;
  uint tile = ctx.tg.x;
  uint rest = tile / uint(p.tiles_across);
  long across = long(tile - rest * uint(p.tiles_across)) * kCdistTile;
  ulong batch = rest / uint(p.tiles_down);
  long down = long(rest - uint(batch) * uint(p.tiles_down)) * kCdistTile;
  down += long(ctx.sg >> 1u) * kCdistSide;
  across += long(ctx.sg & 1u) * kCdistSide;
  if (down >= p.rows || across >= p.columns) return;
  uint g = ctx.lane / 4u, t = ctx.lane % 4u;
  a += offset_of<ulong, kRank>(batch, p.a);
  b += offset_of<ulong, kRank>(batch, p.b);
  // Rows and columns that are not there are read as the last ones.
  device const M* left[4];
  device const M* right[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    left[r] = a + metal::min(down + 8 * r + long(g), p.rows - 1) * p.a_row;
    right[r] = b + metal::min(across + 8 * r + long(g), p.columns - 1) * p.b_row;
  }
  float4 sums[2][4], total[2][4];
  float left_sums[4], right_sums[4], left_total[4], right_total[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    left_total[r] = right_total[r] = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) total[i][r] = float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  for (long first = 0; first < p.length; first += 32 * kCdistSlices) {
    long end = metal::min(first + 32 * kCdistSlices, p.length);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      left_sums[r] = right_sums[r] = 0.0f;
#pragma unroll
      for (int i = 0; i < 2; ++i) sums[i][r] = float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll 2
    for (long slice = first; slice < end; slice += 32) {
      long column = slice + 8 * long(t);
      Packet<16> x[4], z[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        x[r] = columns_at<D>(left[r], column, p.length);
        z[r] = columns_at<D>(right[r], column, p.length);
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        left_sums[r] = squares_of<D>(x[r], left_sums[r]);
        right_sums[r] = squares_of<D>(z[r], right_sums[r]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int w = 0; w < 4; w += 2) {
            sums[i][j] =
                tile_product<D>(uint4(x[2 * i].word[w], x[2 * i + 1].word[w], x[2 * i].word[w + 1],
                                      x[2 * i + 1].word[w + 1]),
                                uint2(z[j].word[w], z[j].word[w + 1]), sums[i][j], ctx.lane);
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      left_total[r] += left_sums[r];
      right_total[r] += right_sums[r];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        total[i][r] = float4(total[i][r].x + sums[i][r].x, total[i][r].y + sums[i][r].y,
                             total[i][r].z + sums[i][r].z, total[i][r].w + sums[i][r].w);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    left_total[r] += simd_shuffle_xor(left_total[r], ushort(1));
    left_total[r] += simd_shuffle_xor(left_total[r], ushort(2));
    right_total[r] += simd_shuffle_xor(right_total[r], ushort(1));
    right_total[r] += simd_shuffle_xor(right_total[r], ushort(2));
  }
  device M* to = y + long(batch) * p.rows * p.columns;
  uint near = 0u;  // a bit for each result that is to be summed by differences
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float columns[2] = {simd_shuffle(right_total[j], ushort(8u * t)),
                        simd_shuffle(right_total[j], ushort(8u * t + 4u))};
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      float4 of = total[r / 2][j];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float product = r % 2 == 0 ? (c == 0 ? of.x : of.y) : (c == 0 ? of.z : of.w);
        float both = left_total[r] + columns[c];
        float square = metal::fma(-2.0f, product, both);
        long row = down + 8 * r + long(g), column = across + 8 * j + 2 * long(t) + c;
        if (row >= p.rows || column >= p.columns) continue;
        if (square > kNear * both && both > kTiny && both < INFINITY) {
          to[row * p.columns + column] = D::store(formula::sqrt(square));
        } else {
          near |= 1u << uint(8 * r + 2 * j + c);
        }
      }
    }
  }
  for (uint lanes = ballot(near != 0u); lanes != 0u; lanes &= lanes - 1u) {
    uint lane = 31u - clz(lanes & (0u - lanes));
    for (uint bits = simd_shuffle(near, ushort(lane)); bits != 0u; bits &= bits - 1u) {
      uint bit = 31u - clz(bits & (0u - bits));
      long row = down + long(8u * (bit / 8u) + lane / 4u);
      long column = across + long(8u * (bit / 2u % 4u) + 2u * (lane % 4u) + bit % 2u);
      float square =
          squared_distance<D>(a + row * p.a_row, b + column * p.b_row, p.length, ctx.lane);
      if (ctx.lane == 0u) to[row * p.columns + column] = D::store(formula::sqrt(square));
    }
  }
}
