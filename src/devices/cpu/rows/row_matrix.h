// The loops of factorizations over small parts of dense matrices, once for every SIMD target. What
// becomes of a column or row does not depend on those beside it.
#pragma once

#include <cstdint>

namespace hearth::cpu {

// A triangle where it lies: element (i, j) is data[i * row_stride + j * col_stride]; both strides
// are negative where an upper triangle is read from its end as a lower one.
template <class T>
struct Triangle {
  const T* data;
  std::int64_t row_stride, col_stride;
};

template <class T>
struct RowMatrix {
  bool (*all_finite)(const T* x, std::int64_t n);
  // The first place of the largest magnitude; 0 if x[0] is NaN, other NaN are passed over. n > 0.
  std::int64_t (*pivot)(const T* x, std::int64_t n);
  void (*divide)(T* x, T divisor, std::int64_t n);
  T (*largest)(const T* x, std::int64_t n);  // magnitude, of finite elements

  // x [n, cols], rows `x_stride` apart, becomes the solution of a x = x for a lower triangle a.
  void (*solve)(Triangle<T> a, std::int64_t n, bool unit, T* x, std::int64_t x_stride,
                std::int64_t cols);
  // The same of one column in one piece, for a lower or upper triangle of rows in one piece.
  void (*solve_vector)(const T* a, std::int64_t row_stride, std::int64_t n, bool upper, bool unit,
                       T* x);

  // a [rows, cols] -= p y + q z, of columns p, q [rows] and rows y, z [cols], and sum [cols] = f a
  // of what becomes of it. Without p only the sum is made, q and z or f and sum may be absent.
  void (*update)(T* a, std::int64_t stride, std::int64_t rows, std::int64_t cols, const T* p,
                 const T* y, const T* q, const T* z, const T* f, T* sum);
  // dots [rows] = a x, of a [rows, cols].
  void (*dots)(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t cols, const T* x,
               T* dots);
};

template <class T>
const RowMatrix<T>& row_matrix();
template <>
const RowMatrix<float>& row_matrix<float>();
template <>
const RowMatrix<double>& row_matrix<double>();

}  // namespace hearth::cpu
