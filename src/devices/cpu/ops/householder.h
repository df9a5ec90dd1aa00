// Products of Householder reflections 1 - tau v v^T, several at a time as 1 - V T V^T (Schreiber
// and Van Loan, "A storage-efficient WY representation for products of Householder
// transformations", 1989).
#pragma once

#include "devices/cpu/ops/matrix_batch.h"

namespace hearth::cpu {

// The reflection that takes x, n elements `step` apart, to (beta, 0, ...): x[0] becomes beta and
// the others v, whose first element is 1. Returns tau, which is 0 where there is nothing to do.
// Beside elements near 1, those whose squares are lost count as 0.
template <class T>
T reflect(T* x, std::int64_t n, std::int64_t step) {
  constexpr double kLeastSquare = 0x1p-900;
  double squares = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    squares += static_cast<double>(x[i * step]) * static_cast<double>(x[i * step]);
  }
  const double head = x[0];
  if (squares < kLeastSquare) {
    for (std::int64_t i = 1; i < n; ++i) x[i * step] = T(0);
    return T(0);
  }
  const double beta = -std::copysign(std::sqrt(head * head + squares), head);
  const double scale = 1 / (head - beta);
  for (std::int64_t i = 1; i < n; ++i) x[i * step] = static_cast<T>(x[i * step] * scale);
  x[0] = static_cast<T>(beta);
  return static_cast<T>((beta - head) / beta);
}

// Column block [at, at + size) of the reflections that `a` [m, n] holds below its diagonal: V
// [m - at, size], and T [size, size], an upper triangle.
template <class T>
void gather_block(const T* a, std::int64_t m, std::int64_t n, std::int64_t at, std::int64_t size,
                  const T* tau, T* v, T* triangle) {
  for (std::int64_t r = 0; r < m - at; ++r) {
    for (std::int64_t c = 0; c < size; ++c) {
      v[r * size + c] = r < c ? T(0) : r == c ? T(1) : a[(at + r) * n + at + c];
    }
  }
  T products[kMatrixBlock * kMatrixBlock];  // V^T V
  multiply<T>(size, size, m - at, {v, 1, size}, {v, size}, products, size, false);
  std::fill_n(triangle, size * size, T(0));
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      T sum = 0;
      for (std::int64_t k = i; k < j; ++k) sum += triangle[i * size + k] * products[k * size + j];
      triangle[i * size + j] = -tau[at + j] * sum;
    }
    triangle[j * size + j] = tau[at + j];
  }
}

// c [rows, cols] = (1 - V T V^T) c, or with T^T.
template <class T>
void apply_block(T* v, std::int64_t rows, std::int64_t size, const T* triangle, bool transposed,
                 T* c, std::int64_t cols, std::int64_t row_stride, T* room) {
  if (cols == 0) return;
  T* const products = room;                 // V^T c
  T* const weighted = room + size * cols;   // -T V^T c
  T negative[kMatrixBlock * kMatrixBlock];  // -T
  negate_to(triangle, size, size, size, negative);
  multiply<T>(size, cols, rows, {v, 1, size}, {c, row_stride}, products, cols, false);
  multiply<T>(
      size, cols, size,
      transposed ? MatrixView<const T>{negative, 1, size} : MatrixView<const T>{negative, size},
      {products, cols}, weighted, cols, false);
  multiply<T>(rows, cols, size, {v, size}, {weighted, cols}, c, row_stride, true);
}

// Scratch elements that the two functions below need.
inline std::int64_t qr_room(std::int64_t m, std::int64_t n, std::int64_t q_cols) {
  const std::int64_t widest = std::max(n, q_cols);
  return m * kMatrixBlock + kMatrixBlock * kMatrixBlock + 2 * kMatrixBlock * widest;
}

// a [m, n] becomes r on and above the diagonal, reflections below it, with min(m, n) tau.
template <class T>
void factor_qr(T* a, std::int64_t m, std::int64_t n, T* tau, T* room) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t rank = std::min(m, n);
  T* const v = room;
  T* const triangle = v + m * kMatrixBlock;
  T* const rest = triangle + kMatrixBlock * kMatrixBlock;
  for (std::int64_t at = 0; at < rank; at += kMatrixBlock) {
    const std::int64_t end = std::min(rank, at + kMatrixBlock), size = end - at;
    for (std::int64_t j = at; j < end; ++j) {
      tau[j] = reflect(a + j * n + j, m - j, n);
      const std::int64_t width = end - j - 1;
      if (tau[j] == T(0) || width == 0) continue;
      T* const sums = rest;
      std::copy_n(a + j * n + j + 1, width, sums);
      for (std::int64_t i = j + 1; i < m; ++i) {
        math.axpy(sums, a[i * n + j], a + i * n + j + 1, width);
      }
      math.axpy(a + j * n + j + 1, -tau[j], sums, width);
      for (std::int64_t i = j + 1; i < m; ++i) {
        math.axpy(a + i * n + j + 1, -tau[j] * a[i * n + j], sums, width);
      }
    }
    if (end == n) continue;
    gather_block(a, m, n, at, size, tau, v, triangle);
    apply_block(v, m - at, size, triangle, true, a + at * n + end, n - end, n, rest);
  }
}

// The first q_cols columns of the product of the reflections of a.
template <class T>
void form_q(const T* a, std::int64_t m, std::int64_t n, const T* tau, T* q, std::int64_t q_cols,
            T* room) {
  const std::int64_t rank = std::min(m, n);
  T* const v = room;
  T* const triangle = v + m * kMatrixBlock;
  T* const rest = triangle + kMatrixBlock * kMatrixBlock;
  std::fill_n(q, m * q_cols, T(0));
  for (std::int64_t i = 0; i < std::min(m, q_cols); ++i) q[i * q_cols + i] = T(1);
  if (rank == 0) return;
  for (std::int64_t at = (rank - 1) / kMatrixBlock * kMatrixBlock; at >= 0; at -= kMatrixBlock) {
    const std::int64_t size = std::min(kMatrixBlock, rank - at);
    gather_block(a, m, n, at, size, tau, v, triangle);
    apply_block(v, m - at, size, triangle, false, q + at * q_cols, q_cols, q_cols, rest);
  }
}

}  // namespace hearth::cpu
