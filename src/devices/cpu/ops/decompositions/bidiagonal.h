// Reflections from both sides that leave a matrix with a diagonal and one beside it (Golub and Van
// Loan, "Matrix Computations", 5.4.8). What two reflections change waits until the next column is
// known, so that the matrix is read twice for each and written once (Howell, Demmel, Fulton,
// Hammarling and Marmol, "Cache efficient bidiagonalization", 2008).
#pragma once

#include "core/integer_math.h"
#include "devices/cpu/ops/decompositions/householder.h"

namespace hearth::cpu {

// Elements of the workspace that make_bidiagonal() needs.
inline std::int64_t bidiagonal_workspace(std::int64_t m, std::int64_t n) { return 3 * m + 4 * n; }

// Where reflections of a square matrix go, with zeros before them: row k has that of step k, from
// element k on for columns, from k + 1 on for rows.
template <class T>
struct TwoSides {
  T *left, *left_tau, *right, *right_tau;
};

// a [m, n] with m >= n, rows `stride` apart, is used up; diagonal [n], above [n], whose last is
// 0. Reflections are kept unless `kept` is null.
template <class T>
void make_bidiagonal(T* a, std::int64_t stride, std::int64_t m, std::int64_t n, double* diagonal,
                     double* above, T* workspace, const TwoSides<T>* kept) {
  const auto keep = [&](T* rows, T* taus, std::int64_t k, std::int64_t from, const T* vector,
                        T tau) {
    taus[k] = tau;
    std::fill_n(rows + k * stride, from, T(0));
    std::copy_n(vector, n - from, rows + k * stride + from);
  };
  const RowMath<T>& math = row_math<T>();
  const RowMatrix<T>& kernels = row_matrix<T>();
  // Waiting: a -= p y + q z.
  T *p = workspace, *q = p + m, *v = q + m, *y = v + m, *z = y + n, *next = z + n, *sums = next + n;
  bool waits = false;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t rows = m - k, cols = n - k - 1;
    T* const column = a + k * stride + k;
    for (std::int64_t i = 0; i < rows; ++i) {
      v[i] = column[i * stride];
      if (waits) v[i] -= p[i] * y[0] + q[i] * z[0];
    }
    const T tau = reflect(v, rows);
    diagonal[k] = v[0];
    above[k] = 0;
    v[0] = T(1);
    if (kept != nullptr) keep(kept->left, kept->left_tau, k, k, v, tau);
    if (cols == 0) return;
    T* const rest = column + 1;
    constexpr std::int64_t kColumns = 192;
    for_chunks(ceil_div(cols, kColumns), rows * kColumns,
               [&](std::int64_t first, std::int64_t last) {
                 const std::int64_t begin = first * kColumns;
                 kernels.update(rest + begin, stride, rows, std::min(cols, last * kColumns) - begin,
                                waits ? p : nullptr, y + 1 + begin, waits ? q : nullptr,
                                z + 1 + begin, v, sums + begin);
               });
    math.scale(sums, tau, y, cols, false);
    for (std::int64_t j = 0; j < cols; ++j) next[j] = rest[j] - y[j];
    const T right_tau = reflect(next, cols);
    above[k] = next[0];
    next[0] = T(1);
    if (kept != nullptr) keep(kept->right, kept->right_tau, k, k + 1, next, right_tau);
    T* const below = rest + stride;
    for_chunks(rows - 1, 2 * cols, [&](std::int64_t first, std::int64_t last) {
      kernels.dots(below + first * stride, stride, last - first, cols, next, q + first);
    });
    std::copy_n(v + 1, rows - 1, p);
    math.axpy(q, -math.dot(y, next, cols), p, rows - 1);
    math.scale(q, right_tau, q, rows - 1, false);
    std::swap(z, next);
    waits = true;
  }
}

}  // namespace hearth::cpu
