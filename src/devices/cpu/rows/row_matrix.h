// The loops of factorizations over small parts of dense matrices, once for every SIMD target. What
// becomes of a column or row does not depend on those beside it.
#pragma once

#include <cstdint>

namespace hearth::cpu {

template <class T>
struct RowMatrix {
  bool (*all_finite)(const T* x, std::int64_t n);
  // The first place of the largest magnitude; 0 if x[0] is NaN, other NaN are passed over. n > 0.
  std::int64_t (*pivot)(const T* x, std::int64_t n);
  void (*divide)(T* x, T divisor, std::int64_t n);
  T (*largest)(const T* x, std::int64_t n);  // magnitude, of finite elements

  // a [rows, cols] -= p y + q z, of columns p, q [rows] and rows y, z [cols], and sum [cols] = f a
  // of what becomes of it. Without p only the sum is made, q and z or f and sum may be absent.
  void (*update)(T* a, std::int64_t stride, std::int64_t rows, std::int64_t cols, const T* p,
                 const T* y, const T* q, const T* z, const T* f, T* sum);
  // dots [rows] = a x, of a [rows, cols].
  void (*dots)(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t cols, const T* x,
               T* dots);

  // Rotations of neighbouring rows of a [count + 1, cols], from the last two to the first:
  // (x, y) = (c x - s y, s x + c y) with element i of cosines and sines for rows i and i + 1.
  void (*rotate)(T* a, std::int64_t stride, std::int64_t count, std::int64_t cols, const T* cosines,
                 const T* sines);
};

template <class T>
const RowMatrix<T>& row_matrix();
template <>
const RowMatrix<float>& row_matrix<float>();
template <>
const RowMatrix<double>& row_matrix<double>();

}  // namespace hearth::cpu
