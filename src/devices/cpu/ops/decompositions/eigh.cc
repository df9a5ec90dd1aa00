// Eigenvalues and eigenvectors of symmetric matrices: reflections to a tridiagonal matrix, then QL
// steps with implicit shifts (Golub and Van Loan, "Matrix Computations", 8.3; Bowdler, Martin,
// Reinsch and Wilkinson, "The QR and QL algorithms for symmetric matrices", 1968).
#include <numeric>

#include "core/integer_math.h"
#include "devices/cpu/ops/decompositions/decompositions.h"
#include "devices/cpu/ops/decompositions/householder.h"
#include "devices/cpu/ops/decompositions/rotations.h"

namespace hearth::cpu {
namespace {

// For each eigenvalue; a few are enough.
constexpr int kMaxSteps = 80;

// Both triangles of a [n, n], rows `stride` apart: becomes tridiagonal. Row j of `vectors` gets the
// reflection of step j, whose first element is at j + 1, where that is not null. What a reflection
// changes waits until the next one is known, so that the matrix is read once for each.
template <class T>
void make_tridiagonal(T* a, std::int64_t stride, std::int64_t n, T* vectors, T* tau, T* workspace,
                      double* diagonal, double* beside) {
  const RowMath<T>& math = row_math<T>();
  // Waiting: a -= v w^T + w v^T, of the rows and columns from j on.
  T *v = workspace, *w = v + n, *next = w + n, *sums = next + n;
  std::fill_n(workspace, 2 * n, T(0));
  for (std::int64_t j = 0; j < n; ++j) {
    T* const row = a + j * (stride + 1);
    const std::int64_t rest = n - j - 1;
    math.axpy(row, -v[0], w, rest + 1);
    math.axpy(row, -w[0], v, rest + 1);
    diagonal[j] = row[0];
    if (rest == 0) break;
    std::copy_n(row + 1, rest, next);
    tau[j] = reflect(next, rest);
    beside[j] = next[0];
    next[0] = T(1);
    T* const below = row + stride + 1;
    constexpr std::int64_t kColumns = 192;
    for_chunks(ceil_div(rest, kColumns), rest * kColumns,
               [&](std::int64_t first, std::int64_t last) {
                 const std::int64_t begin = first * kColumns;
                 row_matrix<T>().update(below + begin, stride, rest,
                                        std::min(rest, last * kColumns) - begin, v + 1,
                                        w + 1 + begin, w + 1, v + 1 + begin, next, sums + begin);
               });
    math.scale(sums, tau[j], sums, rest, false);
    math.axpy(sums, -tau[j] / T(2) * math.dot(sums, next, rest), next, rest);
    std::swap(v, next);
    std::swap(w, sums);
    if (vectors == nullptr) continue;
    std::fill_n(vectors + j * stride, j + 1, T(0));
    std::copy_n(v, rest, vectors + j * stride + j + 1);
  }
}

// The diagonal d becomes the eigenvalues of the tridiagonal matrix with e beside it, whose last
// element is used up, and rows are rotated along, unless null. False if it does not settle.
template <class T>
bool settle(double* d, double* e, std::int64_t n, Rotations<T>* rotations) {
  const double epsilon = std::numeric_limits<T>::epsilon();
  for (std::int64_t l = 0; l < n; ++l) {
    for (int step = 0;; ++step) {
      std::int64_t m = l;
      while (m + 1 < n && std::abs(e[m]) > epsilon * (std::abs(d[m]) + std::abs(d[m + 1]))) ++m;
      if (m == l) break;
      if (step == kMaxSteps) return false;
      const double half = (d[l + 1] - d[l]) / (2 * e[l]);
      double g = d[m] - d[l] + e[l] / (half + std::copysign(std::hypot(half, 1.0), half));
      double s = 1, c = 1, p = 0;
      if (rotations != nullptr) rotations->begin(l, m - l);
      std::int64_t i = m - 1;
      for (; i >= l; --i) {
        const double f = s * e[i], b = c * e[i];
        const double r = length_of(f, g);
        e[i + 1] = r;
        if (r == 0) {  // the matrix falls apart here
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        const double high = d[i + 1] - p;
        const double q = (d[i] - high) * s + 2 * c * b;
        p = s * q;
        d[i + 1] = high + p;
        g = c * q - b;
        if (rotations != nullptr) rotations->rotate(i, c, s);
      }
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  if (rotations != nullptr) rotations->run();
  return true;
}

template <class T>
void run_eigh(const Launch& launch) {
  const MatrixBatch<T> input(input_of(launch, 0)), output(output_of(launch, 1));
  const Operand values = output_of(launch);
  const std::int64_t n = input.rows();
  if (n == 0) return;
  for_matrices(input.count(), 12 * n * n * n, [&](std::int64_t i) {
    const std::int64_t stride = spread_rows(n);
    T* const a = scratch<T>(0, n * stride);
    T* const w = values.absent() ? scratch<T>(1, n) : reinterpret_cast<T*>(values.at(i * n));
    const bool vectors = !output.absent();
    double* const diagonal = scratch<double>(2, 2 * n);
    double* const beside = diagonal + n;
    T* const z = vectors ? scratch<T>(3, n * stride) : nullptr;
    T* const reflections = vectors ? scratch<T>(4, n * stride) : nullptr;
    T* const tau = scratch<T>(5, n);
    T* const workspace = scratch<T>(6, std::max(4 * n, vectors ? gather_workspace(n) : 0));
    T* const dense = scratch<T>(7, n * n);
    input.load(i, dense);
    transpose(dense, n, n, n, a, stride);
    for (std::int64_t r = 0; r < n; ++r) {
      std::copy_n(dense + r * n, r, a + r * stride);
      std::fill(a + r * stride + n, a + (r + 1) * stride, T(0));
    }
    bool settled = row_matrix<T>().all_finite(a, n * stride);
    int exponent = 0;
    if (settled) {
      exponent = scale_to_one(a, n * stride);
      make_tridiagonal(a, stride, n, reflections, tau, workspace, diagonal, beside);
      Rotations<T> rotations(z, stride, n, false);
      if (vectors) gather_reflections(reflections, stride, tau, n, 1, z, workspace);
      settled = settle(diagonal, beside, n, vectors ? &rotations : nullptr);
    }
    if (!settled) {
      std::fill_n(w, n, std::numeric_limits<T>::quiet_NaN());
      if (vectors) output.fill(i, std::numeric_limits<T>::quiet_NaN());
      return;
    }
    std::int64_t* const order = scratch<std::int64_t>(8, n);
    std::iota(order, order + n, std::int64_t{0});
    std::sort(order, order + n, [&](std::int64_t x, std::int64_t y) {
      return diagonal[x] != diagonal[y] ? diagonal[x] < diagonal[y] : x < y;
    });
    for (std::int64_t k = 0; k < n; ++k) {
      w[k] = std::scalbn(static_cast<T>(diagonal[order[k]]), exponent);
      if (!vectors) continue;
      const T* const row = z + order[k] * stride;
      const T most =
          *std::max_element(row, row + n, [](T x, T y) { return std::abs(x) < std::abs(y); });
      row_math<T>().scale(row, most < T(0) ? T(-1) : T(1), a + k * stride, n, false);
    }
    if (vectors) transpose(a, stride, n, n, output.result(i), n);
  });
}

}  // namespace

void launch_eigh(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_eigh<T>(launch); });
}

}  // namespace hearth::cpu
