// The Cholesky factorization by blocks of columns: a block is worked out by itself, and what it
// means for the rest is one product (Golub and Van Loan, "Matrix Computations", 4.2.9).
#include "devices/cpu/ops/matrix_batch.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

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

void launch_cholesky(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_cholesky<T>(launch); });
}
constexpr Implementation kImplementations[] = {
    {.name = "blocks", .op = &defs::cholesky_op, .launch = launch_cholesky},
};

}  // namespace

Family cholesky_family() { return kImplementations; }

}  // namespace hearth::cpu
