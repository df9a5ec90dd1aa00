// expert_linear of many pairs of rows and experts: y[pair] = weight[expert] x[row] (+
// bias[expert]). Text of the kernel dialect.
//
// Pairs are in the order of their experts (groups.metal). A threadgroup of 256 threads makes a tile
// of up to 32 pairs of one expert and 64 outputs: slices of 32 of the inner axis of both operands
// go through threadgroup memory, eight sums a
// thread in registers, each a chain of fused multiply-adds along the inner axis, which depends on
// no other row. Bound by arithmetic, and by reading an expert's weights once for each 32 of its
// pairs.

#include "kernels/blocks/elements.h"
#include "kernels/experts/groups.metal"

// Strides of the slices: neighbouring threads write to other banks.
enum { kExpertXStride = kExpertTileRows + 1, kExpertWeightStride = kExpertTileColumns + 1 };
// Elements of a weight's row that a thread brings.
enum { kExpertPiece = 8 };

// A thread's sums of a tile: rows thread / 16 and 16 further, columns thread % 16 and every 16th
// behind it.
enum { kExpertDown = 2, kExpertAcross = 4 };
template <typename V>
struct ExpertSums {
  V at[kExpertDown][kExpertAcross];

  HEARTH_INLINE void clear() {
#pragma unroll
    for (int i = 0; i < int(kExpertDown); ++i) {
#pragma unroll
      for (int j = 0; j < int(kExpertAcross); ++j) at[i][j] = V(0);
    }
  }
  HEARTH_INLINE void add(threadgroup const V* rows, threadgroup const V* columns, uint thread_row,
                         uint thread_column) {
#pragma unroll 4
    for (uint q = 0u; q < uint(kExpertTileDepth); ++q) {
      V left[kExpertDown], right[kExpertAcross];
#pragma unroll
      for (int i = 0; i < int(kExpertDown); ++i) {
        left[i] = rows[q * uint(kExpertXStride) + thread_row + 16u * uint(i)];
      }
#pragma unroll
      for (int j = 0; j < int(kExpertAcross); ++j) {
        right[j] = columns[q * uint(kExpertWeightStride) + thread_column + 16u * uint(j)];
      }
#pragma unroll
      for (int i = 0; i < int(kExpertDown); ++i) {
#pragma unroll
        for (int j = 0; j < int(kExpertAcross); ++j) {
          at[i][j] = metal::fma(left[i], right[j], at[i][j]);
        }
      }
    }
  }
};

// Weights as they are.
template <typename D>
struct PlainExpert {
  device const typename D::memory* first;
  long row, column;

  template <typename V>
  HEARTH_INLINE void piece(uint output, uint k, uint in, thread V* to) const {
    device const typename D::memory* from = first + (long(output) * row + long(k) * column);
#pragma unroll
    for (uint i = 0u; i < uint(kExpertPiece); ++i) {
      to[i] = k + i < in ? D::load(*from) : V(0);
      from += column;
    }
  }
};

// A tile of `rows` pairs, with one expert.
template <typename D, bool kBias, typename Weight>
HEARTH_INLINE void multiply_tile(device const typename D::memory* x, Weight weight,
                                 device const int* pairs, uint rows,
                                 device const typename D::memory* bias,
                                 device typename D::memory* y, constant ExpertTileParams& p,
                                 threadgroup typename D::value* x_slice,
                                 threadgroup typename D::value* weight_slice, Ctx ctx) {
  typedef typename D::value V;
  const uint kOfRow = 4u;
  uint t = ctx.tid.x;
  uint column = ctx.tg.x * uint(kExpertTileColumns), in = uint(p.in), out = uint(p.out);
  // Where this thread's four elements of x and its piece of the weight come from.
  uint x_row = t / 8u, x_first = t % 8u * kOfRow;
  bool has_row = x_row < rows;
  uint pair = has_row ? uint(pairs[x_row]) : 0u;
  device const typename D::memory* from =
      x + (p.x_base + long(pair / uint(p.used)) * p.x_row + long(pair % uint(p.used)) * p.x_step);
  uint output = t / 4u, w_first = t % 4u * uint(kExpertPiece);
  uint from_output = column + output < out ? column + output : column;
  uint thread_row = t / 16u, thread_column = t % 16u;

  ExpertSums<V> sums;
  sums.clear();
  from += long(x_first) * p.x_column;
  for (uint k = 0u; k < in; k += uint(kExpertTileDepth)) {
#pragma unroll
    for (uint i = 0u; i < kOfRow; ++i) {
      x_slice[(x_first + i) * uint(kExpertXStride) + x_row] =
          has_row && k + x_first + i < in ? D::load(from[long(i) * p.x_column]) : V(0);
    }
    from += long(kExpertTileDepth) * p.x_column;
    V piece[kExpertPiece];
    weight.piece(from_output, k + w_first, in, piece);
#pragma unroll
    for (int i = 0; i < int(kExpertPiece); ++i) {
      weight_slice[(w_first + uint(i)) * uint(kExpertWeightStride) + output] = piece[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sums.add(x_slice, weight_slice, thread_row, thread_column);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
#pragma unroll
  for (int i = 0; i < int(kExpertDown); ++i) {
    uint row = thread_row + 16u * uint(i);
    if (row >= rows) continue;
    device typename D::memory* to = y + long(pairs[row]) * p.out;
#pragma unroll
    for (int j = 0; j < int(kExpertAcross); ++j) {
      uint at = column + thread_column + 16u * uint(j);
      if (at >= out) continue;
      V value = sums.at[i][j];
      if (kBias) value += D::load(bias[long(at) * p.b_column]);
      to[at] = D::store(value);
    }
  }
}

// Pairs that have no expert.
template <typename D>
HEARTH_INLINE void clear_tile(device const int* pairs, uint rows, device typename D::memory* y,
                              constant ExpertTileParams& p, Ctx ctx) {
  long column = long(ctx.tg.x) * kExpertTileColumns;
  for (uint i = ctx.tid.x; i < rows * uint(kExpertTileColumns); i += ctx.ntid.x) {
    long at = column + long(i % uint(kExpertTileColumns));
    if (at >= p.out) continue;
    y[long(pairs[i / uint(kExpertTileColumns)]) * p.out + at] = D::store(typename D::value(0));
  }
}

template <typename D, bool kBias>
void expert_tiles(device const typename D::memory* x, device const typename D::memory* weight,
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
    PlainExpert<D> from;
    from.first = weight + (p.w_base + expert * p.w_expert);
    from.row = p.w_row;
    from.column = p.w_column;
    multiply_tile<D, kBias>(x, from, own, rows, bias + (kBias ? p.b_base + expert * p.b_expert : 0),
                            y, p, x_slice, weight_slice, ctx);
  }
}
