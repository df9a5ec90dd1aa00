// Factorizations of matrices, and what is worked out by them: systems of equations, determinants,
// inverses, norms of matrices. Rules for all functions: hearth/ops.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// ---- Factorizations
// Of the matrices that the last two axes are. Float dtypes; f16 and bf16 compute in f32. Devices
// without kernels have the CPU do it: such a call waits, and copies. Where an element that is read
// is not finite, all elements of results are NaN; orders of rows are then x's, and the zeros and
// ones of lu() stay.

// x [..., n, n], symmetric and positive definite, as l l^T: l [..., n, n], lower, with a positive
// diagonal. The lower triangle alone is read, and has the gradient. NaN where x is not positive
// definite.
HEARTH_API Array cholesky(const Array& x);
// x [..., m, n] with rows in another order as the product of a lower triangle l with a diagonal of
// 1 and an upper triangle u, by partial pivoting: l below the diagonal and u on and above it
// [..., m, n], and for each row of the product its row of x, i64 [..., m].
HEARTH_API std::pair<Array, Array> lu_decomposition(const Array& x);
// Three matrices whose product is x [..., m, n], with k = min(m, n): p [..., m, m], which orders
// rows, and the l [..., m, k] and u [..., k, n] of lu_decomposition.
HEARTH_API std::array<Array, 3> lu(const Array& x);
// x [..., m, n] as q r: q of orthonormal columns, r an upper triangle whose diagonal may have any
// sign. With k = min(m, n) q is [..., m, k] and r [..., k, n]; unless `reduced`, q is [..., m, m]
// and r [..., m, n], which is not differentiable for m > n. A gradient asks that the first k
// columns of x are independent.
HEARTH_API std::pair<Array, Array> qr(const Array& x, bool reduced = true);
// x [..., m, n] as u diag(s) vh with k = min(m, n): u [..., m, k] of orthonormal columns, s
// [..., k] from the largest down and never negative, vh [..., k, n] of orthonormal rows. The
// element of largest magnitude of each row of vh (of each column of u where m < n) is positive.
// Gradients of u and vh ask for distinct s; those of s do not.
HEARTH_API std::array<Array, 3> svd(const Array& x);
// The singular values alone: the s of svd.
HEARTH_API Array svdvals(const Array& x);
// x [..., n, n], symmetric, as v diag(w) v^T: w [..., n] from the smallest up, and v [..., n, n] of
// orthonormal columns, in each of which the element of largest magnitude is positive. The lower
// triangle alone is read, and has the gradient. Gradients of v ask for distinct w.
HEARTH_API std::pair<Array, Array> eigh(const Array& x);
// The eigenvalues alone: the w of eigh.
HEARTH_API Array eigvalsh(const Array& x);

// ---- Systems of equations and inverses
// Of the matrices that the last two axes are. Float dtypes unless said; f16 and bf16 compute in
// f32. Devices without kernels have the CPU do it: such a call waits, and copies. Where an element
// that is read is not finite, all elements of results are NaN unless said.

// x [..., n, k] with a x = b. Of a [..., n, n] one triangle is read, the lower one unless `upper`,
// with 1 on its diagonal where `unit_diagonal` says so. b is [..., n, k], or [n] for one column;
// leading axes broadcast. A 0 on the diagonal gives infinities or NaN, as b's do in their column.
HEARTH_API Array triangular_solve(const Array& a, const Array& b, bool upper = false,
                                  bool unit_diagonal = false);
// x with a x = b: a [..., n, n], b [..., n, k] or [n]; leading axes broadcast. Where a pivot is 0
// the result has infinities or NaN.
HEARTH_API Array solve(const Array& a, const Array& b);
// The inverse of each matrix of x [..., n, n], with infinities or NaN where a pivot is 0.
HEARTH_API Array inverse(const Array& x);
// Each matrix of x [..., m, n] to its pseudoinverse [..., n, m]; singular values up to `relative`
// times the largest count as 0. Unless given, `relative` is max(m, n) times the epsilon of the
// dtype.
HEARTH_API Array pinv(const Array& x, std::optional<double> relative = std::nullopt);
// The x of least norm among those that make the norm of a x - b least, column by column: a
// [..., m, n], b [..., m, k] or [m]; leading axes broadcast. `relative` as of pinv.
HEARTH_API Array lstsq(const Array& a, const Array& b,
                       std::optional<double> relative = std::nullopt);
// x [..., n, n] to a whole power: a product as matmul() has it, for a negative power that of the
// inverse, for 0 the identity, with gradients of 0. Numeric dtypes, float dtypes for a negative
// power.
HEARTH_API Array matrix_power(const Array& x, std::int64_t power);

// ---- Determinants and norms of matrices
// Of the matrices that the last two axes are. Float dtypes unless said; f16 and bf16 compute in
// f32. Devices without kernels have the CPU do it: such a call waits, and copies. Where an element
// that is read is not finite, all elements of results are NaN unless said.

// The determinant of each matrix of x [..., n, n]: [...], 1 where n is 0. The gradient is defined
// for singular matrices, too.
HEARTH_API Array det(const Array& x);
// The sign of det and the logarithm of its magnitude, [...] each: 0 and -infinity where it is 0.
HEARTH_API std::pair<Array, Array> slogdet(const Array& x);
// The root of the sum of squares; the sum of singular values, the largest, the smallest; the
// largest and smallest sum of magnitudes of a column, and of a row: sums alone may be infinite.
enum class MatrixNorm : std::uint8_t {
  frobenius,
  nuclear,
  spectral,
  least_singular,
  column,
  least_column,
  row,
  least_row,
};
// The norm of each matrix of x [..., m, n]: [...], or [..., 1, 1] with keepdim. Without elements 0
// for a sum, an Error{invalid_argument} where a largest or smallest is asked for.
HEARTH_API Array matrix_norm(const Array& x, MatrixNorm norm = MatrixNorm::frobenius,
                             bool keepdim = false);

}  // namespace v0
}  // namespace hearth
