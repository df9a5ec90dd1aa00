// What surrounds a library's factorizations: matrices brought to its order, and back. Text of the
// kernel dialect.
//
// An element that is not finite is 0 in the copy, which a library can be given whatever it does
// with NaN, and is noted; the results of such a matrix are NaN, and so are those of one that the
// library says has none, in `info`.

#include "kernels/blocks/elements.h"
#include "kernels/blocks/strided.h"
#include "kernels/decompositions/params.h"

template <int kPart>
HEARTH_INLINE bool counts_in_matrix(long row, long col) {
  if (kPart == kLowerTriangle) return col <= row;
  if (kPart == kUpperTriangle) return col >= row;
  if (kPart == kBelowDiagonal) return col < row;
  if (kPart == kAboveDiagonal) return col > row;
  return true;
}

// Row by row, or column by column. A simdgroup has a word of `spoiled`.
template <typename D, int kPart, bool kByColumns, bool kKeepsAll, int kRank>
void load_matrices(device const typename D::memory* x, device typename D::memory* to,
                   device uint* spoiled, constant LoadMatrixParams<kRank>& p, Ctx ctx) {
  typedef typename D::value V;
  uint matrix = ctx.tg.x / uint(p.groups);
  long group = long(ctx.tg.x - matrix * uint(p.groups));
  x += offset_of<ulong, kRank>(matrix, p.x);
  to += long(matrix) * p.batch_stride;
  long across = kByColumns ? p.rows : p.cols;
  bool bad = false;
  for (long i = group * kMatrixThreads + long(ctx.tid.x); i < p.rows * p.cols;
       i += p.groups * kMatrixThreads) {
    long line = i / across, place = i - line * across;
    long row = kByColumns ? place : line, col = kByColumns ? line : place;
    V value = V(0);
    if (counts_in_matrix<kPart>(row, col)) {
      value = D::load(x[row * p.row_stride + col * p.col_stride]);
    }
    bool finite = kKeepsAll || metal::isfinite(value);
    bad = bad || !finite;
    to[i] = D::store(finite ? value : V(0));
  }
  bad = simd_any(bad);
  if (ctx.lane == 0u) spoiled[ctx.tg.x * ctx.nsg + ctx.sg] = bad ? 1u : 0u;
}

// Asked by whole simdgroups.
HEARTH_INLINE bool is_spoiled(device const uint* spoiled, uint matrix, long words, Ctx ctx) {
  bool bad = false;
  for (long i = long(ctx.lane); i < words; i += 32) {
    bad = bad || spoiled[long(matrix) * words + i] != 0u;
  }
  return simd_any(bad);
}

// A threadgroup's part of a dense result becomes NaN.
template <typename D>
HEARTH_INLINE void spoil_matrix(device typename D::memory* y, uint matrix, constant MatrixParams& p,
                                Ctx ctx) {
  long group = long(ctx.tg.x - matrix * uint(p.groups));
  y += long(matrix) * p.rows * p.cols;
  for (long i = group * kMatrixThreads + long(ctx.tid.x); i < p.rows * p.cols;
       i += p.groups * kMatrixThreads) {
    y[i] = D::store(typename D::value(NAN));
  }
}

// Of the spoiled matrices.
template <typename D>
void spoil_matrices(device typename D::memory* y, device const uint* spoiled,
                    constant MatrixParams& p, Ctx ctx) {
  uint matrix = ctx.tg.x / uint(p.groups);
  if (is_spoiled(spoiled, matrix, p.words, ctx)) spoil_matrix<D>(y, matrix, p, ctx);
}

// Of those, too, that the library failed to factor.
template <typename D>
void spoil_failed_matrices(device typename D::memory* y, device const uint* spoiled,
                           device const int* info, constant MatrixParams& p, Ctx ctx) {
  uint matrix = ctx.tg.x / uint(p.groups);
  if (is_spoiled(spoiled, matrix, p.words, ctx) || info[matrix] != 0) {
    spoil_matrix<D>(y, matrix, p, ctx);
  }
}

// Row by row what is column by column, with columns of p.height elements.
template <typename D, int kPart>
void take_matrices(device const typename D::memory* from, device typename D::memory* y,
                   device const uint* spoiled, constant MatrixParams& p, Ctx ctx) {
  typedef typename D::value V;
  uint matrix = ctx.tg.x / uint(p.groups);
  bool bad = is_spoiled(spoiled, matrix, p.words, ctx);
  long group = long(ctx.tg.x - matrix * uint(p.groups));
  from += long(matrix) * p.batch_stride;
  y += long(matrix) * p.rows * p.cols;
  for (long i = group * kMatrixThreads + long(ctx.tid.x); i < p.rows * p.cols;
       i += p.groups * kMatrixThreads) {
    long row = i / p.cols, col = i - row * p.cols;
    V value = V(0);
    if (counts_in_matrix<kPart>(row, col)) value = D::load(from[col * p.height + row]);
    y[i] = D::store(bad ? V(NAN) : value);
  }
}

// Where exchanges of rows leave them: exchange i was of row i and row pivots[i] - 1. A thread
// follows one row. The rows of a spoiled matrix stay.
template <typename D, bool kRows, bool kSigns>
void order_rows(device const long* pivots, device long* rows, device typename D::memory* signs,
                device const uint* spoiled, constant MatrixParams& p, Ctx ctx) {
  uint matrix = ctx.tg.x / uint(p.groups);
  bool bad = is_spoiled(spoiled, matrix, p.words, ctx);
  long group = long(ctx.tg.x - matrix * uint(p.groups));
  long row = group * kMatrixThreads + long(ctx.tid.x);
  if (row >= p.rows) return;
  pivots += long(matrix) * p.cols;
  long place = row;
  bool odd = false;
  for (long i = 0; i < p.cols; ++i) {
    long other = bad ? i : pivots[i] - 1;
    // Of a matrix whose elements overflow on the way a library may find no pivot.
    if (other < i || other >= p.rows) other = i;
    place = place == i ? other : place == other ? i : place;
    odd = odd != (other != i);
  }
  if (kRows) rows[long(matrix) * p.rows + place] = row;
  if (kSigns && row == 0) signs[matrix] = D::store(typename D::value(odd ? -1.0f : 1.0f));
}

// The vectors that a library gives one after the other, each with the sign that makes its element
// of largest magnitude positive, the first of them where several are; and what belongs to each. A
// simdgroup has one of them.
template <typename D, bool kFirst, bool kOther>
void take_vectors(device const typename D::memory* from,
                  device const typename D::memory* from_other, device typename D::memory* y,
                  device typename D::memory* y_other, device const uint* spoiled,
                  device const int* info, constant VectorParams& p, Ctx ctx) {
  typedef typename D::value V;
  uint matrix = ctx.tg.x / uint(p.groups);
  bool bad = is_spoiled(spoiled, matrix, p.words, ctx) || info[matrix] != 0;
  long vector = long(ctx.tg.x - matrix * uint(p.groups)) * long(ctx.nsg) + long(ctx.sg);
  if (vector >= p.count) return;
  from += (long(matrix) * p.count + vector) * p.length;
  V most = V(0);
  V top = V(0);  // its magnitude
  long place = p.length;
  for (long i = long(ctx.lane); i < p.length; i += 32) {
    V value = D::load(from[i]);
    V magnitude = metal::fabs(value);
    if (magnitude > top) {
      top = magnitude;
      most = value;
      place = i;
    }
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    V other_top = shuffle_xor(top, ushort(mask));
    V other_most = shuffle_xor(most, ushort(mask));
    long other_place = shuffle_xor(place, ushort(mask));
    bool wins = other_top > top || (other_top == top && other_place < place);
    top = wins ? other_top : top;
    most = wins ? other_most : most;
    place = wins ? other_place : place;
  }
  V sign = bad ? V(NAN) : most < V(0) ? V(-1) : V(1);
  if (kFirst) {
    y += long(matrix) * p.count * p.length + vector * p.vector_step;
    for (long i = long(ctx.lane); i < p.length; i += 32) {
      y[i * p.step] = D::store(D::load(from[i]) * sign);
    }
  }
  if (kOther) {
    from_other += (long(matrix) * p.count + vector) * p.other_length;
    y_other += long(matrix) * p.count * p.other_length + vector * p.other_vector_step;
    for (long i = long(ctx.lane); i < p.other_length; i += 32) {
      y_other[i * p.other_step] = D::store(D::load(from_other[i]) * sign);
    }
  }
}
