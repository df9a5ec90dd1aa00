// The matrices of an operand, one at a time: dense copies of them, row by row, and back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/rows/row_matrix.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// Columns that a blocked factorization works out before the rest is brought up to date by a
// product.
inline constexpr std::int64_t kMatrixBlock = 48;

template <class T>
class MatrixBatch {
 public:
  explicit MatrixBatch(const Operand& operand)
      : operand_(operand),
        places_(operand.shape(), operand.strides(), 0, operand.shape().rank() - 2),
        rows_(operand.shape()[operand.shape().rank() - 2]),
        cols_(operand.shape().back()),
        row_stride_(operand.stride(operand.shape().rank() - 2)),
        col_stride_(operand.stride(operand.shape().rank() - 1)) {}

  bool absent() const { return operand_.absent(); }
  std::int64_t count() const { return places_.count(); }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }

  // Of a matrix where it lies.
  const T* place(std::int64_t i) const {
    return reinterpret_cast<const T*>(operand_.at(places_.at(i)));
  }
  std::int64_t row_stride() const { return row_stride_; }
  std::int64_t col_stride() const { return col_stride_; }

  void load(std::int64_t i, T* to) const { read(i, to, rows_, cols_, row_stride_, col_stride_); }
  void load_transposed(std::int64_t i, T* to) const {
    read(i, to, cols_, rows_, col_stride_, row_stride_);
  }
  // Of a result, which is dense.
  T* result(std::int64_t i) const { return reinterpret_cast<T*>(operand_.at(i * rows_ * cols_)); }
  void store(std::int64_t i, const T* from) const { std::copy_n(from, rows_ * cols_, result(i)); }
  void store_transposed(std::int64_t i, const T* from) const {
    T* const to = result(i);
    for (std::int64_t r = 0; r < rows_; ++r) {
      for (std::int64_t c = 0; c < cols_; ++c) to[r * cols_ + c] = from[c * rows_ + r];
    }
  }
  void fill(std::int64_t i, T value) const { std::fill_n(result(i), rows_ * cols_, value); }

 private:
  void read(std::int64_t i, T* to, std::int64_t rows, std::int64_t cols, std::int64_t row_stride,
            std::int64_t col_stride) const {
    const T* const from = place(i);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const row = from + r * row_stride;
      if (col_stride == 1) {
        std::copy_n(row, cols, to + r * cols);
        continue;
      }
      for (std::int64_t c = 0; c < cols; ++c) to[r * cols + c] = row[c * col_stride];
    }
  }

  Operand operand_;
  OffsetMap places_;
  std::int64_t rows_, cols_, row_stride_, col_stride_;
};

// Calls body(i) for each of `count` matrices that take about `cost` steps each.
template <class Body>
void for_matrices(std::int64_t count, std::int64_t cost, Body body) {
  for_chunks(count, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) body(i);
  });
}

template <class T>
struct MatrixView {
  T* data;
  std::int64_t row_stride;
  std::int64_t col_stride = 1;
};

// c [m, n] (+)= a [m, k] b [k, n]
template <class T>
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<const T> a,
              MatrixView<const T> b, T* c, std::int64_t c_row_stride, bool accumulate) {
  if (m == 0 || n == 0 || (k == 0 && accumulate)) return;
  GemmArgs args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a.data;
  args.a_row_stride = a.row_stride;
  args.a_col_stride = a.col_stride;
  args.b = b.data;
  args.b_row_stride = b.row_stride;
  args.b_col_stride = b.col_stride;
  args.c = c;
  args.c_row_stride = c_row_stride;
  args.dtype = args.c_dtype = dtype_of_v<T>;
  args.accumulate = accumulate;
  gemm(args);
}

// -x [rows, cols] as a dense matrix.
template <class T>
void negate_to(const T* x, std::int64_t row_stride, std::int64_t rows, std::int64_t cols, T* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) to[r * cols + c] = -x[r * row_stride + c];
  }
}

// x times a power of 2 that brings its largest magnitude, which is finite, near 1. Returns the
// exponent that `rescale` undoes it with.
template <class T>
int scale_to_one(T* x, std::int64_t n) {
  const T most = row_matrix<T>().largest(x, n);
  if (most == T(0)) return 0;
  const int exponent = std::ilogb(most);
  if (exponent > -20 && exponent < 20) return 0;
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::scalbn(x[i], -exponent);
  return exponent;
}
template <class T>
void rescale(T* x, std::int64_t n, int exponent) {
  if (exponent == 0) return;
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::scalbn(x[i], exponent);
}

}  // namespace hearth::cpu
