// Systems of equations whose matrix is a triangle, once for every SIMD target. What becomes of a
// column does not depend on those beside it.
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
struct RowTriangle {
  // b [n, cols], rows `stride` apart, becomes the x of a x = b, for a lower triangle a.
  void (*solve)(Triangle<T> a, std::int64_t n, bool unit, T* b, std::int64_t stride,
                std::int64_t cols);
  // The same of one column in one piece, for a lower or upper triangle of rows in one piece.
  void (*solve_vector)(const T* a, std::int64_t row_stride, std::int64_t n, bool upper, bool unit,
                       T* x);
};

template <class T>
const RowTriangle<T>& row_triangle();
template <>
const RowTriangle<float>& row_triangle<float>();
template <>
const RowTriangle<double>& row_triangle<double>();

}  // namespace hearth::cpu
