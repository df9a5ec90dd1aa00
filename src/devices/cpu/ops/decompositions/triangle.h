// Systems of equations whose matrix is a triangle: halves, the first solved, what it means for the
// second one product (Golub and Van Loan, "Matrix Computations", 3.1.4).
#pragma once

#include "core/integer_math.h"
#include "devices/cpu/ops/decompositions/matrix_batch.h"
#include "devices/cpu/rows/row_triangle.h"

namespace hearth::cpu {

// Columns of x up to which products cost more than they bring.
inline constexpr std::int64_t kFewColumns = 32;

// The triangle of a [n, n] alone is read.
template <class T>
struct TriangularMatrix {
  MatrixView<const T> a;
  bool upper, unit;

  // Of rows and columns from `at` on.
  TriangularMatrix from(std::int64_t at) const {
    return {{a.data + at * (a.row_stride + a.col_stride), a.row_stride, a.col_stride}, upper, unit};
  }
};

// Elements of the workspace that solve_triangle() needs.
inline std::int64_t triangle_workspace(std::int64_t n, std::int64_t cols) {
  return (n / 2 + kMatrixBlock) * cols;
}

// x [n, cols], rows `x_stride` apart, holds b and becomes the solution of a x = b.
template <class T>
void solve_triangle(const TriangularMatrix<T>& triangle, std::int64_t n, T* x,
                    std::int64_t x_stride, std::int64_t cols, T* workspace) {
  const MatrixView<const T>& a = triangle.a;
  const bool upper = triangle.upper;
  const RowTriangle<T>& rows = row_triangle<T>();
  if (n == 0 || cols == 0) return;
  if (cols == 1 && x_stride == 1 && a.col_stride == 1) {
    return rows.solve_vector(a.data, a.row_stride, n, upper, triangle.unit, x);
  }
  if (n <= kMatrixBlock || cols <= kFewColumns) {
    // From the last row and column to the first an upper triangle is a lower one.
    const std::int64_t end = upper ? n - 1 : 0, sign = upper ? -1 : 1;
    const Triangle<T> lower = {a.data + end * (a.row_stride + a.col_stride), sign * a.row_stride,
                               sign * a.col_stride};
    constexpr std::int64_t kColumns = 64;
    for_chunks(ceil_div(cols, kColumns), n * n * kColumns / 8,
               [&](std::int64_t first, std::int64_t last) {
                 const std::int64_t begin = first * kColumns;
                 rows.solve(lower, n, triangle.unit, x + end * x_stride + begin, sign * x_stride,
                            std::min(cols, last * kColumns) - begin);
               });
    return;
  }
  const std::int64_t half = ceil_div(n, 2 * kMatrixBlock) * kMatrixBlock;
  T* const second = x + half * x_stride;
  if (upper) {
    solve_triangle(triangle.from(half), n - half, second, x_stride, cols, workspace);
    negate_to(second, x_stride, n - half, cols, workspace);
    multiply<T>(half, cols, n - half, {a.data + half * a.col_stride, a.row_stride, a.col_stride},
                {workspace, cols}, x, x_stride, true);
    return solve_triangle(triangle, half, x, x_stride, cols, workspace);
  }
  solve_triangle(triangle, half, x, x_stride, cols, workspace);
  negate_to(x, x_stride, half, cols, workspace);
  multiply<T>(n - half, cols, half, {a.data + half * a.row_stride, a.row_stride, a.col_stride},
              {workspace, cols}, second, x_stride, true);
  solve_triangle(triangle.from(half), n - half, second, x_stride, cols, workspace);
}

}  // namespace hearth::cpu
