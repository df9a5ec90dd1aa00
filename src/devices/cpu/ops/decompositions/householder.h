// Products of Householder reflections 1 - tau v v^T, several at a time as 1 - V T V^T (Schreiber
// and Van Loan, "A storage-efficient WY representation for products of Householder
// transformations", 1989).
#pragma once

#include <utility>

#include "core/thread_owned.h"
#include "devices/cpu/ops/decompositions/panel.h"

namespace hearth::cpu {

// The reflection that takes x [n] to (beta, 0, ...): x[0] becomes beta and the others v, whose
// first element is 1. Returns tau, which is 0 where there is nothing to do. Beside elements near 1,
// those whose squares are lost count as 0.
template <class T>
T reflect(T* x, std::int64_t n) {
  constexpr double kLeastSquare = 0x1p-900;
  constexpr std::int64_t kChains = 16;
  double chains[kChains] = {};
  std::int64_t at = 1;
  for (; at + kChains <= n; at += kChains) {
    for (std::int64_t k = 0; k < kChains; ++k) {
      chains[k] += static_cast<double>(x[at + k]) * static_cast<double>(x[at + k]);
    }
  }
  double squares = 0;
  for (; at < n; ++at) squares += static_cast<double>(x[at]) * static_cast<double>(x[at]);
  for (const double chain : chains) squares += chain;
  const double head = x[0];
  if (squares < kLeastSquare) {
    for (std::int64_t i = 1; i < n; ++i) x[i] = T(0);
    return T(0);
  }
  const double beta = -std::copysign(std::sqrt(head * head + squares), head);
  const double scale = 1 / (head - beta);
  for (std::int64_t i = 1; i < n; ++i) x[i] = static_cast<T>(x[i] * scale);
  x[0] = static_cast<T>(beta);
  return static_cast<T>((beta - head) / beta);
}

// A small matrix of a function; threads may have small stacks.
template <class T>
struct BlockMatrix {
  T elements[kMatrixBlock * kMatrixBlock];
};

// T^T [size, size], a lower triangle, of the reflections in v [size, length], `stride` apart.
template <class T>
void form_triangle(const T* v, std::int64_t stride, std::int64_t length, std::int64_t size,
                   const T* tau, T* triangle) {
  const RowMath<T>& math = row_math<T>();
  T* const products = ThreadOwned<BlockMatrix<T>>::get().elements;  // V^T V
  multiply<T>(size, size, length, {v, stride}, {v, 1, stride}, products, size, false);
  std::fill_n(triangle, size * size, T(0));
  for (std::int64_t j = 0; j < size; ++j) {
    T* const row = triangle + j * size;
    math.axpy_rows(row, products + j * size, triangle, size, j, j);
    math.scale(row, -tau[j], row, j, false);
    row[j] = tau[j];
  }
}

// c [length, cols] = (1 - V T V^T) c, or with T^T.
template <class T>
void apply_block(const T* v, std::int64_t stride, std::int64_t length, std::int64_t size,
                 const T* triangle, bool transposed, T* c, std::int64_t cols,
                 std::int64_t row_stride, T* workspace) {
  if (cols == 0) return;
  T* const products = workspace;                                    // V^T c
  T* const weighted = workspace + size * cols;                      // -T V^T c
  T* const negative = ThreadOwned<BlockMatrix<T>>::get().elements;  // -T^T
  negate_to(triangle, size, size, size, negative);
  multiply<T>(size, cols, length, {v, stride}, {c, row_stride}, products, cols, false);
  multiply<T>(
      size, cols, size,
      transposed ? MatrixView<const T>{negative, size} : MatrixView<const T>{negative, 1, size},
      {products, cols}, weighted, cols, false);
  multiply<T>(length, cols, size, {v, 1, stride}, {weighted, cols}, c, row_stride, true);
}

// Scratch elements that the two functions below need.
inline std::int64_t qr_workspace(std::int64_t m, std::int64_t n, std::int64_t q_cols) {
  const std::int64_t widest = std::max(n, q_cols);
  return kMatrixBlock * (spread_rows(m) + kMatrixBlock + 2 * widest);
}

// v [size, length], `stride` apart: zeros and a 1 before the reflections.
template <class T>
void clear_heads(T* v, std::int64_t stride, std::int64_t size) {
  for (std::int64_t c = 0; c < size; ++c) {
    std::fill_n(v + c * stride, c, T(0));
    v[c * stride + c] = T(1);
  }
}

// Reflections of columns that lie in one piece, [cols, rows], `stride` apart.
template <class T>
void factor_columns(T* panel, std::int64_t stride, std::int64_t rows, std::int64_t cols, T* tau) {
  const RowMatrix<T>& kernels = row_matrix<T>();
  T sums[kMatrixBlock];
  for (std::int64_t j = 0; j < cols; ++j) {
    T* const v = panel + j * stride + j;
    tau[j] = reflect(v, rows - j);
    const std::int64_t rest = cols - j - 1;
    if (tau[j] == T(0) || rest == 0) continue;
    const T beta = std::exchange(v[0], T(1));
    kernels.dots(v + stride, stride, rest, rows - j, v, sums);
    for (std::int64_t c = 0; c < rest; ++c) sums[c] *= tau[j];
    kernels.update(v + stride, stride, rest, rows - j, sums, v, nullptr, nullptr, nullptr, nullptr);
    v[0] = beta;
  }
}

// a [m, n] becomes r on and above the diagonal, reflections below it, with min(m, n) tau.
template <class T>
void factor_qr(T* a, std::int64_t m, std::int64_t n, T* tau, T* workspace) {
  const std::int64_t rank = std::min(m, n), stride = spread_rows(m);
  T* const v = workspace;
  T* const triangle = v + kMatrixBlock * stride;
  T* const rest = triangle + kMatrixBlock * kMatrixBlock;
  for (std::int64_t at = 0; at < rank; at += kMatrixBlock) {
    const std::int64_t end = std::min(rank, at + kMatrixBlock), size = end - at;
    T* const corner = a + at * n + at;
    transpose(corner, n, m - at, size, v, stride);
    factor_columns(v, stride, m - at, size, tau + at);
    transpose(v, stride, size, m - at, corner, n);
    if (end == n) continue;
    clear_heads(v, stride, size);
    form_triangle(v, stride, m - at, size, tau + at, triangle);
    apply_block(v, stride, m - at, size, triangle, true, corner + size, n - end, n, rest);
  }
}

// The first q_cols columns of the product of the reflections of a.
template <class T>
void form_q(const T* a, std::int64_t m, std::int64_t n, const T* tau, T* q, std::int64_t q_cols,
            T* workspace) {
  const std::int64_t rank = std::min(m, n), stride = spread_rows(m);
  T* const v = workspace;
  T* const triangle = v + kMatrixBlock * stride;
  T* const rest = triangle + kMatrixBlock * kMatrixBlock;
  std::fill_n(q, m * q_cols, T(0));
  for (std::int64_t i = 0; i < std::min(m, q_cols); ++i) q[i * q_cols + i] = T(1);
  if (rank == 0) return;
  for (std::int64_t at = (rank - 1) / kMatrixBlock * kMatrixBlock; at >= 0; at -= kMatrixBlock) {
    const std::int64_t size = std::min(kMatrixBlock, rank - at);
    transpose(a + at * n + at, n, m - at, size, v, stride);
    clear_heads(v, stride, size);
    form_triangle(v, stride, m - at, size, tau + at, triangle);
    // Columns before these are still those of the identity: 0 in these rows.
    apply_block(v, stride, m - at, size, triangle, false, q + at * q_cols + at, q_cols - at, q_cols,
                rest);
  }
}

// Elements of the workspace that gather_reflections() needs.
inline std::int64_t gather_workspace(std::int64_t n) {
  return n * n + kMatrixBlock * (kMatrixBlock + 2 * n);
}

// z [n, n] = the transpose of the product of the reflections that the rows of `vectors` hold, from
// element row + `offset` on and zeros before it; rows of both are `stride` apart.
template <class T>
void gather_reflections(const T* vectors, std::int64_t stride, const T* tau, std::int64_t n,
                        std::int64_t offset, T* z, T* workspace) {
  T* const product = workspace;
  T* const triangle = workspace + n * n;
  T* const rest = triangle + kMatrixBlock * kMatrixBlock;
  std::fill_n(product, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) product[i * (n + 1)] = T(1);
  const std::int64_t count = n - offset;
  for (std::int64_t at = count < 1 ? -1 : (count - 1) / kMatrixBlock * kMatrixBlock; at >= 0;
       at -= kMatrixBlock) {
    const std::int64_t size = std::min(kMatrixBlock, count - at), first = at + offset;
    const T* const v = vectors + at * stride + first;
    form_triangle(v, stride, n - first, size, tau + at, triangle);
    apply_block(v, stride, n - first, size, triangle, false, product + first * (n + 1), n - first,
                n, rest);
  }
  transpose(product, n, n, n, z, stride);
}

}  // namespace hearth::cpu
