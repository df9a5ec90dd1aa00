// The LU factorization with partial pivoting, by blocks of columns (Golub and Van Loan, "Matrix
// Computations", 3.4).
#include <limits>
#include <numeric>

#include "devices/cpu/ops/decompositions/decompositions.h"
#include "devices/cpu/ops/decompositions/panel.h"
#include "devices/cpu/ops/decompositions/triangle.h"

namespace hearth::cpu {
namespace {

// Elements of the workspace that factor_lu() needs.
std::int64_t lu_workspace(std::int64_t m) { return kMatrixBlock * spread_rows(m); }

// Columns that lie in one piece, `rows` long, `stride` apart. pivots[j] is the row that took the
// place of row j.
template <class T>
void factor_columns(T* panel, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                    std::int64_t* pivots) {
  const RowMatrix<T>& kernels = row_matrix<T>();
  T factors[kMatrixBlock];
  for (std::int64_t j = 0; j < cols; ++j) {
    T* const column = panel + j * stride;
    const std::int64_t pivot = pivots[j] = j + kernels.pivot(column + j, rows - j);
    if (pivot != j) {
      for (std::int64_t c = 0; c < cols; ++c) {
        std::swap(panel[c * stride + j], panel[c * stride + pivot]);
      }
    }
    const T divisor = column[j];
    if (divisor == T(0)) continue;  // the column is 0 from here on
    kernels.divide(column + j + 1, divisor, rows - j - 1);
    for (std::int64_t c = j + 1; c < cols; ++c) factors[c - j - 1] = panel[c * stride + j];
    kernels.update(column + stride + j + 1, stride, cols - j - 1, rows - j - 1, factors,
                   column + j + 1, nullptr, nullptr, nullptr, nullptr);
  }
}

// a [m, n] becomes l and u. rows[i] is the row of the input that is row i of the product. Returns
// the sign of that permutation.
template <class T>
int factor_lu(T* a, std::int64_t m, std::int64_t n, std::int64_t* rows, T* panel) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t rank = std::min(m, n), stride = spread_rows(m);
  std::int64_t pivots[kMatrixBlock];
  int sign = 1;
  std::iota(rows, rows + m, std::int64_t{0});
  for (std::int64_t at = 0; at < rank; at += kMatrixBlock) {
    const std::int64_t end = std::min(rank, at + kMatrixBlock), size = end - at;
    T* const corner = a + at * n + at;
    transpose(corner, n, m - at, size, panel, stride);
    factor_columns(panel, stride, m - at, size, pivots);
    transpose(panel, stride, size, m - at, corner, n);
    for (std::int64_t j = 0; j < size; ++j) {
      if (pivots[j] == j) continue;
      T* const row = a + (at + j) * n;
      T* const other = a + (at + pivots[j]) * n;
      std::swap_ranges(row, row + at, other);
      std::swap_ranges(row + end, row + n, other + end);
      std::swap(rows[at + j], rows[at + pivots[j]]);
      sign = -sign;
    }
    if (end == n) continue;
    solve_triangle<T>({{corner, n}, false, true}, size, corner + size, n, n - end, nullptr);
    for (std::int64_t c = 0; c < size; ++c) {
      math.scale(panel + c * stride + size, T(-1), panel + c * stride + size, m - end, false);
    }
    multiply<T>(m - end, n - end, size, {panel + size, 1, stride}, {corner + size, n},
                corner + size * n + size, n, true);
  }
  return sign;
}

template <class T>
void run_lu(const Launch& launch) {
  const MatrixBatch<T> input(input_of(launch, 0)), output(output_of(launch));
  const Operand permutation = output_of(launch, 1), signs = output_of(launch, 2);
  const std::int64_t m = input.rows(), n = input.cols();
  for_matrices(input.count(), m * n * std::min(m, n), [&](std::int64_t i) {
    T* const a = output.result(i);
    input.load(i, a);
    std::int64_t* const own = scratch<std::int64_t>(0, m);
    std::int64_t* const rows =
        permutation.absent() ? own : reinterpret_cast<std::int64_t*>(permutation.at(i * m));
    int sign = 1;
    if (row_matrix<T>().all_finite(a, m * n)) {
      sign = factor_lu(a, m, n, rows, scratch<T>(0, lu_workspace(m)));
    } else {
      output.fill(i, std::numeric_limits<T>::quiet_NaN());
      std::iota(rows, rows + m, std::int64_t{0});
    }
    if (!signs.absent()) *reinterpret_cast<T*>(signs.at(i)) = static_cast<T>(sign);
  });
}

}  // namespace

void launch_lu(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_lu<T>(launch); });
}

}  // namespace hearth::cpu
