// The LU factorization with partial pivoting, by blocks of columns (Golub and Van Loan, "Matrix
// Computations", 3.4).
#include <limits>
#include <numeric>

#include "devices/cpu/ops/matrix_batch.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// a [m, n] becomes l and u. rows[i] is the row of the input that is row i of the product. Returns
// the sign of that permutation.
template <class T>
int factor_lu(T* a, std::int64_t m, std::int64_t n, std::int64_t* rows, T* panel) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t rank = std::min(m, n);
  int sign = 1;
  std::iota(rows, rows + m, std::int64_t{0});
  for (std::int64_t at = 0; at < rank; at += kMatrixBlock) {
    const std::int64_t end = std::min(rank, at + kMatrixBlock), size = end - at;
    for (std::int64_t j = at; j < end; ++j) {
      std::int64_t pivot = j;
      T most = std::abs(a[j * n + j]);
      for (std::int64_t i = j + 1; i < m; ++i) {
        const T magnitude = std::abs(a[i * n + j]);
        if (magnitude > most) {
          most = magnitude;
          pivot = i;
        }
      }
      if (pivot != j) {
        std::swap_ranges(a + j * n, a + (j + 1) * n, a + pivot * n);
        std::swap(rows[j], rows[pivot]);
        sign = -sign;
      }
      const T divisor = a[j * n + j];
      if (divisor == T(0)) continue;  // the column is 0 from here on
      for (std::int64_t i = j + 1; i < m; ++i) {
        const T factor = a[i * n + j] /= divisor;
        if (factor != T(0)) math.axpy(a + i * n + j + 1, -factor, a + j * n + j + 1, end - j - 1);
      }
    }
    if (end == n) continue;
    for (std::int64_t i = at + 1; i < end; ++i) {
      for (std::int64_t j = at; j < i; ++j) {
        math.axpy(a + i * n + end, -a[i * n + j], a + j * n + end, n - end);
      }
    }
    negate_to(a + end * n + at, n, m - end, size, panel);
    multiply<T>(m - end, n - end, size, {panel, size}, {a + at * n + end, n}, a + end * n + end, n,
                true);
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
      sign = factor_lu(a, m, n, rows, scratch<T>(0, m * kMatrixBlock));
    } else {
      output.fill(i, std::numeric_limits<T>::quiet_NaN());
      std::iota(rows, rows + m, std::int64_t{0});
    }
    if (!signs.absent()) *reinterpret_cast<T*>(signs.at(i)) = static_cast<T>(sign);
  });
}

void launch_lu(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_lu<T>(launch); });
}

constexpr Implementation kImplementations[] = {
    {.name = "blocks", .op = &defs::lu_factor_op, .launch = launch_lu, .may_omit = 0b110},
};

}  // namespace

Family lu_family() { return kImplementations; }

}  // namespace hearth::cpu
