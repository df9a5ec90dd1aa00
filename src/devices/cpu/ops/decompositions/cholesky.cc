// The Cholesky factorization by blocks of columns: a block is worked out by itself, and what it
// means for the rest is one product (Golub and Van Loan, "Matrix Computations", 4.2.9).
#include "devices/cpu/ops/decompositions/decompositions.h"
#include "devices/cpu/ops/decompositions/panel.h"
#include "devices/cpu/ops/decompositions/triangle.h"

namespace hearth::cpu {
namespace {

// Columns of the rest that are brought up to date by one product.
constexpr std::int64_t kUpdateColumns = 96;

// The lower triangle of a [n, n], rows `stride` apart, becomes its factor; false if it is not
// positive definite. What is above becomes anything.
template <class T>
bool factor_block(T* a, std::int64_t stride, std::int64_t n) {
  const RowMatrix<T>& kernels = row_matrix<T>();
  T column[kMatrixBlock];
  for (std::int64_t j = 0; j < n; ++j) {
    T* const corner = a + j * (stride + 1);
    const T square = *corner;
    if (!(square > T(0)) || !std::isfinite(square)) return false;
    const T root = *corner = std::sqrt(square);
    const std::int64_t rest = n - j - 1;
    for (std::int64_t i = 0; i < rest; ++i) column[i] = corner[(i + 1) * stride] /= root;
    kernels.update(corner + stride + 1, stride, rest, rest, column, column, nullptr, nullptr,
                   nullptr, nullptr);
  }
  return true;
}

// Elements of the workspace that factor() needs.
std::int64_t factor_workspace(std::int64_t n) { return 2 * kMatrixBlock * spread_rows(n); }

template <class T>
bool factor(T* a, std::int64_t n, T* workspace) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t stride = spread_rows(n);
  T* const panel = workspace;
  T* const negative = workspace + kMatrixBlock * stride;
  for (std::int64_t at = 0; at < n; at += kMatrixBlock) {
    const std::int64_t end = std::min(n, at + kMatrixBlock), size = end - at, rest = n - end;
    T* const corner = a + at * (n + 1);
    if (!factor_block(corner, n, size)) return false;
    if (rest == 0) break;
    transpose(corner + size * n, n, rest, size, panel, stride);
    solve_triangle<T>({{corner, n}, false, false}, size, panel, stride, rest, nullptr);
    transpose(panel, stride, size, rest, corner + size * n, n);
    for (std::int64_t c = 0; c < size; ++c) {
      math.scale(panel + c * stride, T(-1), negative + c * stride, rest, false);
    }
    // The triangle that is left, by columns of blocks.
    for (std::int64_t col = 0; col < rest; col += kUpdateColumns) {
      multiply<T>(rest - col, std::min(kUpdateColumns, rest - col), size,
                  {negative + col, 1, stride}, {panel + col, stride}, a + (end + col) * (n + 1), n,
                  true);
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
    if (!factor(a, n, scratch<T>(0, factor_workspace(n)))) {
      return output.fill(i, std::numeric_limits<T>::quiet_NaN());
    }
    for (std::int64_t r = 0; r < n; ++r) std::fill(a + r * n + r + 1, a + (r + 1) * n, T(0));
  });
}

}  // namespace

void launch_cholesky(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_cholesky<T>(launch); });
}

}  // namespace hearth::cpu
