// The thin singular value decomposition by a QR factorization, then one-sided Jacobi rotations of
// the rows of r until all are orthogonal (Hestenes 1958; Demmel and Veselic, "Jacobi's method is
// more accurate than QR", 1992).
//
// With j r = s vh for the product j of the rotations, u is q j^T: orthogonal whatever the singular
// values are. Rows of s vh that are 0 are completed to an orthonormal basis.
#pragma once

#include <atomic>
#include <numeric>

#include "devices/cpu/ops/decompositions/householder.h"

namespace hearth::cpu {

inline constexpr int kMaxSweeps = 64;

// Below this a row counts as 0; the largest element of the matrix is near 1.
template <class T>
constexpr double least_square() {
  return static_cast<double>(std::numeric_limits<T>::min()) /
         static_cast<double>(std::numeric_limits<T>::epsilon());
}

struct Rotation {
  double cosine, sine;
};
// That makes rows with the products aa, bb and ab orthogonal.
inline Rotation rotation_of(double aa, double bb, double ab) {
  const double zeta = (bb - aa) / (2 * ab);
  const double size = std::abs(zeta);
  const double t = size > 1e100 ? 0.5 / size : 1 / (size + std::sqrt(1 + zeta * zeta));
  const double tangent = std::copysign(t, zeta);
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  return {cosine, cosine * tangent};
}

template <class T>
void rotate_rows(T* a, T* b, std::int64_t n, Rotation by) {
  const T c = static_cast<T>(by.cosine), s = static_cast<T>(by.sine);
  for (std::int64_t i = 0; i < n; ++i) {
    const T x = a[i], y = b[i];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

// Rotates pairs of rows of b [n, n], and of j unless null, until they are orthogonal. The pairs of
// a round have no row in common, so they may run at once.
template <class T>
void orthogonalize(T* b, T* j, std::int64_t n) {
  const RowMath<T>& math = row_math<T>();
  const double tolerance = static_cast<double>(std::numeric_limits<T>::epsilon()) *
                           std::max(4.0, std::sqrt(static_cast<double>(n)));
  const std::int64_t players = n + n % 2;
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    std::atomic<bool> rotated = false;
    for (std::int64_t round = 0; round + 1 < players; ++round) {
      for_chunks(players / 2, 12 * n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t pair = begin; pair < end; ++pair) {
          // The last player stays, the others move on by one place each round.
          const std::int64_t circle = players - 1;
          std::int64_t first = (round + pair) % circle;
          std::int64_t second = pair == 0 ? circle : (round + circle - pair) % circle;
          if (first > second) std::swap(first, second);
          if (second >= n) continue;
          T* const x = b + first * n;
          T* const y = b + second * n;
          const double xx = math.dot(x, x, n), yy = math.dot(y, y, n), xy = math.dot(x, y, n);
          if (xx <= least_square<T>() || yy <= least_square<T>()) continue;
          if (!(std::abs(xy) > tolerance * std::sqrt(xx) * std::sqrt(yy))) continue;
          const Rotation by = rotation_of(xx, yy, xy);
          rotate_rows(x, y, n, by);
          if (j != nullptr) rotate_rows(j + first * n, j + second * n, n, by);
          rotated.store(true, std::memory_order_relaxed);
        }
      });
    }
    if (!rotated.load()) return;
  }
}

// Row `at` of x [n, n] as a unit vector that is orthogonal to the rows before it. `candidate` is
// the unit vector to start from.
template <class T>
void complete_row(T* x, std::int64_t n, std::int64_t at, std::int64_t& candidate) {
  const RowMath<T>& math = row_math<T>();
  T* const row = x + at * n;
  for (std::int64_t tries = 0; tries < n; ++tries) {
    std::fill_n(row, n, T(0));
    row[candidate] = T(1);
    candidate = (candidate + 1) % n;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t r = 0; r < at; ++r) {
        math.axpy(row, -math.dot(row, x + r * n, n), x + r * n, n);
      }
      const T square = math.dot(row, row, n);
      if (pass == 0 && square * static_cast<T>(2 * n) < T(1)) break;
      for (std::int64_t i = 0; i < n; ++i) row[i] /= std::sqrt(square);
      if (pass == 1) return;
    }
  }
}

// The rows of x [n, n] in the order that `order` gives.
template <class T>
void order_rows(T* x, std::int64_t n, const std::int64_t* order, T* workspace) {
  for (std::int64_t i = 0; i < n; ++i) std::copy_n(x + order[i] * n, n, workspace + i * n);
  std::copy_n(workspace, n * n, x);
}

// a [m, n] with m >= n. Any of the results may be null: u [m, n], s [n], vh [n, n].
template <class T>
void decompose_by_jacobi(T* a, std::int64_t m, std::int64_t n, T* u, T* s, T* vh) {
  const bool vectors = u != nullptr || vh != nullptr;
  T* const tau = scratch<T>(1, n);
  T* const workspace = scratch<T>(2, std::max(qr_workspace(m, n, n), n * n));
  T* const b = scratch<T>(3, n * n);
  T* const j = u != nullptr ? scratch<T>(4, n * n) : nullptr;
  T* const lengths = scratch<T>(5, n);
  std::int64_t* const order = scratch<std::int64_t>(6, n);
  T* const q = u != nullptr ? scratch<T>(7, m * n) : nullptr;
  const int exponent = scale_to_one(a, m * n);
  factor_qr(a, m, n, tau, workspace);
  if (u != nullptr) form_q(a, m, n, tau, q, n, workspace);
  for (std::int64_t r = 0; r < n; ++r) {
    std::fill_n(b + r * n, r, T(0));
    std::copy_n(a + r * n + r, n - r, b + r * n + r);
  }
  if (j != nullptr) {
    std::fill_n(j, n * n, T(0));
    for (std::int64_t i = 0; i < n; ++i) j[i * n + i] = T(1);
  }
  orthogonalize(b, j, n);
  const RowMath<T>& math = row_math<T>();
  for (std::int64_t i = 0; i < n; ++i) {
    const double square = math.dot(b + i * n, b + i * n, n);
    lengths[i] = square <= least_square<T>() ? T(0) : static_cast<T>(std::sqrt(square));
  }
  std::iota(order, order + n, std::int64_t{0});
  std::sort(order, order + n, [&](std::int64_t x, std::int64_t y) {
    return lengths[x] != lengths[y] ? lengths[x] > lengths[y] : x < y;
  });
  if (vectors) order_rows(b, n, order, workspace);
  if (j != nullptr) order_rows(j, n, order, workspace);
  std::int64_t candidate = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T length = lengths[order[i]];
    if (s != nullptr) s[i] = std::scalbn(length, exponent);
    if (!vectors) continue;
    if (length == T(0)) {
      complete_row(b, n, i, candidate);
    } else {
      for (std::int64_t c = 0; c < n; ++c) b[i * n + c] /= length;
    }
    // The element of vh of largest magnitude is positive.
    const T* const row = b + i * n;
    const T most =
        *std::max_element(row, row + n, [](T x, T y) { return std::abs(x) < std::abs(y); });
    if (most >= T(0)) continue;
    for (std::int64_t c = 0; c < n; ++c) b[i * n + c] = -b[i * n + c];
    if (j == nullptr) continue;
    for (std::int64_t c = 0; c < n; ++c) j[i * n + c] = -j[i * n + c];
  }
  if (vh != nullptr) std::copy_n(b, n * n, vh);
  if (u != nullptr) multiply<T>(m, n, n, {q, n}, {j, 1, n}, u, n, false);
}

}  // namespace hearth::cpu
