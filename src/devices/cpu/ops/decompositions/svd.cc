// The thin singular value decomposition: by a bidiagonal matrix, each value within a few roundings
// of the largest, or by Jacobi's rotations where there are few rows or columns.
#include <numeric>

#include "devices/cpu/ops/decompositions/bidiagonal.h"
#include "devices/cpu/ops/decompositions/bidiagonal_steps.h"
#include "devices/cpu/ops/decompositions/decompositions.h"
#include "devices/cpu/ops/decompositions/jacobi_svd.h"
#include "devices/cpu/ops/decompositions/singular_values.h"

namespace hearth::cpu {
namespace {

// s [n] alone of a [m, n] with m >= n, which is used up; false if they do not settle.
template <class T>
bool find_values(T* a, std::int64_t m, std::int64_t n, T* s) {
  T* const tau = scratch<T>(1, n);
  T* const workspace = scratch<T>(2, std::max(qr_workspace(m, n, 0), bidiagonal_workspace(m, n)));
  double* const diagonal = scratch<double>(3, 2 * n);
  const int exponent = scale_to_one(a, m * n);
  std::int64_t rows = m;
  if (3 * m > 5 * n) {  // cheaper of a triangle
    factor_qr(a, m, n, tau, workspace);
    for (std::int64_t r = 1; r < n; ++r) std::fill_n(a + r * n, r, T(0));
    rows = n;
  }
  const std::int64_t stride = spread_rows(n);
  T* const b = scratch<T>(4, rows * stride);
  for (std::int64_t r = 0; r < rows; ++r) std::copy_n(a + r * n, n, b + r * stride);
  make_bidiagonal<T>(b, stride, rows, n, diagonal, diagonal + n, workspace, nullptr);
  const double tolerance = static_cast<double>(std::numeric_limits<T>::epsilon()) / 64;
  SingularValues values(diagonal, diagonal + n, n, std::max(tolerance, 0x1p-46));
  if (!values.run(diagonal)) return false;
  for (std::int64_t i = 0; i < n; ++i) s[i] = std::scalbn(static_cast<T>(diagonal[i]), exponent);
  return true;
}

// Up to here Jacobi's rotations are no slower.
constexpr std::int64_t kJacobiRank = 16;

// As decompose_by_jacobi(), by a bidiagonal matrix; false if it does not settle.
template <class T>
bool find_vectors(T* a, std::int64_t m, std::int64_t n, T* u, T* s, T* vh) {
  const std::int64_t stride = spread_rows(n);
  T* const q = m > n ? scratch<T>(7, m * n) : nullptr;
  T* const tau = scratch<T>(1, 2 * n);
  T* const workspace = scratch<T>(
      2, std::max({qr_workspace(m, n, n), bidiagonal_workspace(n, n), gather_workspace(n)}));
  double* const diagonal = scratch<double>(3, 2 * n);
  T* const b = scratch<T>(4, 5 * n * stride);
  T* const left = b + n * stride;
  T* const right = left + n * stride;
  T* const left_rows = right + n * stride;
  T* const right_rows = left_rows + n * stride;
  const int exponent = scale_to_one(a, m * n);
  if (q != nullptr) {
    factor_qr(a, m, n, tau, workspace);
    form_q(a, m, n, tau, q, n, workspace);
    for (std::int64_t r = 1; r < n; ++r) std::fill_n(a + r * n, r, T(0));
  }
  for (std::int64_t r = 0; r < n; ++r) std::copy_n(a + r * n, n, b + r * stride);
  const TwoSides<T> kept = {left, tau, right, tau + n};
  make_bidiagonal(b, stride, n, n, diagonal, diagonal + n, workspace, &kept);
  gather_reflections(left, stride, tau, n, 0, left_rows, workspace);
  gather_reflections(right, stride, tau + n, n, 1, right_rows, workspace);
  double most = 0;
  for (std::int64_t i = 0; i < 2 * n; ++i) most = std::max(most, std::abs(diagonal[i]));
  const double tolerance = static_cast<double>(std::numeric_limits<T>::epsilon()) / 16 * most;
  Rotations<T> of_left(left_rows, stride, n, true), of_right(right_rows, stride, n, true);
  if (!BidiagonalSteps<T>(diagonal, diagonal + n, n, tolerance, of_left, of_right).run()) {
    return false;
  }
  std::int64_t* const order = scratch<std::int64_t>(6, n);
  std::iota(order, order + n, std::int64_t{0});
  std::sort(order, order + n, [&](std::int64_t x, std::int64_t y) {
    const double first = std::abs(diagonal[x]), second = std::abs(diagonal[y]);
    return first != second ? first > second : x < y;
  });
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = diagonal[order[i]];
    if (s != nullptr) s[i] = std::scalbn(static_cast<T>(std::abs(value)), exponent);
    // The element of vh of largest magnitude is positive.
    const T* const row = right_rows + order[i] * stride;
    const T end =
        *std::max_element(row, row + n, [](T x, T y) { return std::abs(x) < std::abs(y); });
    const bool flips = end < T(0);
    const T sign = flips ? T(-1) : T(1), left_sign = flips != std::signbit(value) ? T(-1) : T(1);
    if (vh != nullptr) row_math<T>().scale(row, sign, vh + i * n, n, false);
    row_math<T>().scale(left_rows + order[i] * stride, left_sign, left + i * stride, n, false);
  }
  if (u == nullptr) return true;
  if (q == nullptr) {
    transpose(left, stride, n, n, u, n);
  } else {
    multiply<T>(m, n, n, {q, n}, {left, 1, stride}, u, n, false);
  }
  return true;
}

template <class T>
void run_svd(const Launch& launch) {
  const MatrixBatch<T> input(input_of(launch, 0)), u(output_of(launch)), vh(output_of(launch, 2));
  const Operand values = output_of(launch, 1);
  const std::int64_t m = input.rows(), n = input.cols(), rank = std::min(m, n);
  if (rank == 0) return;
  const bool is_wide = m < n;
  const std::int64_t longer = std::max(m, n);
  for_matrices(input.count(), 40 * longer * rank * rank, [&](std::int64_t i) {
    T* const a = scratch<T>(0, m * n);
    T* const s = values.absent() ? nullptr : reinterpret_cast<T*>(values.at(i * rank));
    const auto load = [&] { is_wide ? input.load_transposed(i, a) : input.load(i, a); };
    load();
    if (!row_matrix<T>().all_finite(a, m * n)) {
      constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
      if (s != nullptr) std::fill_n(s, rank, kNan);
      if (!u.absent()) u.fill(i, kNan);
      if (!vh.absent()) vh.fill(i, kNan);
      return;
    }
    if (u.absent() && vh.absent()) {
      if (s == nullptr || find_values(a, longer, rank, s)) return;
      load();
    }
    T* const left = is_wide && !vh.absent() ? scratch<T>(8, m * n) : nullptr;
    T* const right = is_wide && !u.absent() ? scratch<T>(9, m * m) : nullptr;
    T* const columns = is_wide || u.absent() ? left : u.result(i);
    T* const rows = is_wide || vh.absent() ? right : vh.result(i);
    if (rank <= kJacobiRank || !find_vectors(a, longer, rank, columns, s, rows)) {
      if (rank > kJacobiRank) load();
      decompose_by_jacobi(a, longer, rank, columns, s, rows);
    }
    if (left != nullptr) vh.store_transposed(i, left);
    if (right != nullptr) u.store_transposed(i, right);
  });
}

}  // namespace

void launch_svd(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_svd<T>(launch); });
}

}  // namespace hearth::cpu
