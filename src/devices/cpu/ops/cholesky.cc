// The Cholesky factorization, and systems of equations whose matrix is a triangle.
//
// Both go by blocks of columns: a block is worked out by itself, and what it means for the rest is
// one product (Golub and Van Loan, "Matrix Computations", 4.2.9 and 3.1.4).
#include "devices/cpu/ops/matrix_batch.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Rows [first, last) of x [n, cols] with a x = b in place, for rows [first, last) of a dense lower
// triangle whose earlier unknowns are done.
template <class T>
void solve_rows(const T* a, std::int64_t n, std::int64_t first, std::int64_t last, bool unit, T* x,
                std::int64_t cols) {
  const RowMath<T>& math = row_math<T>();
  for (std::int64_t i = first; i < last; ++i) {
    T* const row = x + i * cols;
    for (std::int64_t j = first; j < i; ++j) math.axpy(row, -a[i * n + j], x + j * cols, cols);
    if (unit) continue;
    const T divisor = a[i * n + i];
    for (std::int64_t c = 0; c < cols; ++c) row[c] /= divisor;
  }
}

// x [n, cols] with a x = b, in place, of a dense lower triangle a.
template <class T>
void solve_lower(const T* a, std::int64_t n, bool unit, T* x, std::int64_t cols, T* panel) {
  for (std::int64_t at = 0; at < n; at += kMatrixBlock) {
    const std::int64_t end = std::min(n, at + kMatrixBlock), size = end - at;
    solve_rows(a, n, at, end, unit, x, cols);
    negate_to(a + end * n + at, n, n - end, size, panel);
    multiply<T>(n - end, cols, size, {panel, size}, {x + at * cols, cols}, x + end * cols, cols,
                true);
  }
}

// The lower triangle of a [n, n] becomes its factor; false if it is not positive definite.
template <class T>
bool factor(T* a, std::int64_t n, T* panel) {
  const RowMath<T>& math = row_math<T>();
  for (std::int64_t at = 0; at < n; at += kMatrixBlock) {
    const std::int64_t end = std::min(n, at + kMatrixBlock), size = end - at;
    for (std::int64_t i = at; i < n; ++i) {
      T* const row = a + i * n + at;
      const std::int64_t known = std::min(i - at, size);
      for (std::int64_t j = 0; j < known; ++j) {
        const T* const other = a + (at + j) * n + at;
        row[j] = (row[j] - math.dot(row, other, j)) / other[j];
      }
      if (i >= end) continue;
      const T square = row[known] - math.dot(row, row, known);
      if (!(square > T(0)) || !std::isfinite(square)) return false;
      row[known] = std::sqrt(square);
    }
    // The triangle that is left, by columns of blocks.
    negate_to(a + end * n + at, n, n - end, size, panel);
    for (std::int64_t col = end; col < n; col += kMatrixBlock) {
      const std::int64_t width = std::min(kMatrixBlock, n - col);
      multiply<T>(n - col, width, size, {panel + (col - end) * size, size},
                  {a + col * n + at, 1, n}, a + col * n + col, n, true);
    }
  }
  return true;
}

template <class T>
void run_cholesky(const Launch& launch) {
  const MatrixBatch<T> input(input_of(launch, 0)), output(output_of(launch));
  const std::int64_t n = input.rows();
  for_matrices(input.count(), n * n * n / 3, [&](std::int64_t i) {
    T* const a = output.result(i);
    input.load(i, a);
    if (!factor(a, n, scratch<T>(0, n * kMatrixBlock))) {
      return output.fill(i, std::numeric_limits<T>::quiet_NaN());
    }
    for (std::int64_t r = 0; r < n; ++r) std::fill(a + r * n + r + 1, a + (r + 1) * n, T(0));
  });
}

// Of the elements that a solution reads.
template <class T>
bool is_triangle_finite(const T* a, std::int64_t n, bool upper, bool unit) {
  const std::int64_t inside = unit ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = upper ? i + inside : 0, last = upper ? n : i + 1 - inside;
    if (first < last && !all_finite(a + i * n + first, last - first)) return false;
  }
  return true;
}

template <class T>
void run_triangular_solve(const Launch& launch) {
  const MatrixBatch<T> a(input_of(launch, 0)), b(input_of(launch, 1)), output(output_of(launch));
  ParamReader statics = statics_of(launch);
  const bool upper = statics.boolean(), unit = statics.boolean();
  const std::int64_t n = a.rows(), cols = b.cols();
  for_matrices(a.count(), n * n * (cols + 1), [&](std::int64_t i) {
    T* const triangle = scratch<T>(0, n * n);
    T* const panel = scratch<T>(1, n * kMatrixBlock);
    T* const x = output.result(i);
    a.load(i, triangle);
    if (!is_triangle_finite(triangle, n, upper, unit)) {
      return output.fill(i, std::numeric_limits<T>::quiet_NaN());
    }
    b.load(i, x);
    // From the last row and column to the first an upper triangle is a lower one.
    const auto turn_rows = [&] {
      for (std::int64_t r = 0; r < n / 2; ++r) {
        std::swap_ranges(x + r * cols, x + (r + 1) * cols, x + (n - 1 - r) * cols);
      }
    };
    if (upper) {
      std::reverse(triangle, triangle + n * n);
      turn_rows();
    }
    solve_lower(triangle, n, unit, x, cols, panel);
    if (upper) turn_rows();
  });
}

void launch_cholesky(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_cholesky<T>(launch); });
}
void launch_triangular_solve(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(),
                    [&]<class T>() { run_triangular_solve<T>(launch); });
}

constexpr Implementation kImplementations[] = {
    {.name = "blocks", .op = &defs::cholesky_op, .launch = launch_cholesky},
    {.name = "blocks", .op = &defs::triangular_solve_op, .launch = launch_triangular_solve},
};

}  // namespace

Family cholesky_family() { return kImplementations; }

}  // namespace hearth::cpu
