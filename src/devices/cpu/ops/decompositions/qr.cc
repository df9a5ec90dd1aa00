// The QR factorization by Householder reflections.
#include "devices/cpu/ops/decompositions/decompositions.h"
#include "devices/cpu/ops/decompositions/householder.h"

namespace hearth::cpu {
namespace {

template <class T>
void run_qr(const Launch& launch) {
  const MatrixBatch<T> input(input_of(launch, 0)), q(output_of(launch)), r(output_of(launch, 1));
  const std::int64_t m = input.rows(), n = input.cols(), q_cols = q.cols(), r_rows = r.rows();
  for_matrices(input.count(), 2 * m * n * (std::min(m, n) + q_cols) + 1, [&](std::int64_t i) {
    T* const a = scratch<T>(0, m * n);
    T* const tau = scratch<T>(1, std::min(m, n));
    T* const workspace = scratch<T>(2, qr_workspace(m, n, q_cols));
    input.load(i, a);
    if (!row_matrix<T>().all_finite(a, m * n)) {
      constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
      if (!q.absent()) q.fill(i, kNan);
      if (!r.absent()) r.fill(i, kNan);
      return;
    }
    const int exponent = scale_to_one(a, m * n);
    factor_qr(a, m, n, tau, workspace);
    if (!r.absent()) {
      T* const to = r.result(i);
      for (std::int64_t row = 0; row < r_rows; ++row) {
        const std::int64_t zeros = std::min(row, n);
        std::fill_n(to + row * n, zeros, T(0));
        std::copy_n(a + row * n + zeros, n - zeros, to + row * n + zeros);
      }
      rescale(to, r_rows * n, exponent);
    }
    if (!q.absent()) form_q(a, m, n, tau, q.result(i), q_cols, workspace);
  });
}

}  // namespace

void launch_qr(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_qr<T>(launch); });
}

}  // namespace hearth::cpu
