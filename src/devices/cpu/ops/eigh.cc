// Eigenvalues and eigenvectors of symmetric matrices: reflections to a tridiagonal matrix, then QL
// steps with implicit shifts (Golub and Van Loan, "Matrix Computations", 8.3; Bowdler, Martin,
// Reinsch and Wilkinson, "The QR and QL algorithms for symmetric matrices", 1968).
#include <numeric>
#include <vector>

#include "core/integer_math.h"
#include "devices/cpu/ops/householder.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// For each eigenvalue; a few are enough.
constexpr int kMaxSteps = 80;

// Both triangles of a [n, n]: becomes tridiagonal. Row j of `vectors` gets the reflection of step
// j, whose first element is at j + 1, where that is not null.
template <class T>
void make_tridiagonal(T* a, std::int64_t n, T* vectors, T* tau, T* room, double* diagonal,
                      double* beside) {
  const RowMath<T>& math = row_math<T>();
  for (std::int64_t j = 0; j < n; ++j) {
    T* const v = a + j * n + j + 1;  // by symmetry the column below the diagonal
    const std::int64_t rest = n - j - 1;
    diagonal[j] = a[j * n + j];
    if (rest == 0) break;
    tau[j] = reflect(v, rest);
    beside[j] = v[0];
    if (tau[j] == T(0)) continue;
    v[0] = T(1);
    T* const below = a + (j + 1) * n + j + 1;
    T* const w = room;
    for_chunks(rest, rest, [&](std::int64_t first, std::int64_t last) {
      math.dot_rows(v, below + first * n, n, last - first, rest, w + first);
    });
    math.scale(w, tau[j], w, rest, false);
    math.axpy(w, -tau[j] / T(2) * math.dot(w, v, rest), v, rest);
    for_chunks(rest, 2 * rest, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        math.axpy(below + i * n, -v[i], w, rest);
        math.axpy(below + i * n, -w[i], v, rest);
      }
    });
    if (vectors != nullptr) std::copy_n(v, rest, vectors + j * n + j + 1);
  }
}

// z [n, n] = the transpose of the product of the reflections.
template <class T>
void gather_reflections(const T* vectors, const T* tau, std::int64_t n, T* z, T* room) {
  const RowMath<T>& math = row_math<T>();
  std::fill_n(z, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) z[i * n + i] = T(1);
  for (std::int64_t j = n - 2; j >= 0; --j) {
    if (tau[j] == T(0)) continue;
    const std::int64_t rest = n - j - 1;
    const T* const v = vectors + j * n + j + 1;
    T* const rows = z + (j + 1) * n + j + 1;
    // By columns of blocks, so that they may run at once.
    constexpr std::int64_t kWidth = 128;
    for_chunks(ceil_div(rest, kWidth), 2 * rest * kWidth,
               [&](std::int64_t first, std::int64_t last) {
                 const std::int64_t begin = first * kWidth, end = std::min(rest, last * kWidth);
                 T* const sums = room + begin;
                 std::fill_n(sums, end - begin, T(0));
                 math.axpy_rows(sums, v, rows + begin, n, rest, end - begin);
                 for (std::int64_t i = 0; i < rest; ++i) {
                   math.axpy(rows + i * n + begin, -tau[j] * v[i], sums, end - begin);
                 }
               });
  }
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < r; ++c) std::swap(z[r * n + c], z[c * n + r]);
  }
}

struct Turn {
  std::int64_t row;  // and the one after it
  double cosine, sine;
};

template <class T>
void turn_rows(T* z, std::int64_t n, const std::vector<Turn>& turns) {
  constexpr std::int64_t kWidth = 256;
  const auto cost = 6 * kWidth * static_cast<std::int64_t>(turns.size());
  for_chunks(ceil_div(n, kWidth), cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first * kWidth; at < std::min(n, last * kWidth); at += kWidth) {
      const std::int64_t width = std::min(kWidth, n - at);
      for (const Turn& turn : turns) {
        const T c = static_cast<T>(turn.cosine), s = static_cast<T>(turn.sine);
        T* const x = z + turn.row * n + at;
        T* const y = x + n;
        for (std::int64_t i = 0; i < width; ++i) {
          const T before = x[i], after = y[i];
          x[i] = c * before - s * after;
          y[i] = s * before + c * after;
        }
      }
    }
  });
}

// The diagonal d becomes the eigenvalues of the tridiagonal matrix with e beside it, whose last
// element is room, and the rows of z, unless null, turn with it. False if it does not settle.
template <class T>
bool settle(double* d, double* e, std::int64_t n, T* z) {
  const double epsilon = std::numeric_limits<T>::epsilon();
  std::vector<Turn> turns;
  for (std::int64_t l = 0; l < n; ++l) {
    for (int step = 0;; ++step) {
      std::int64_t m = l;
      while (m + 1 < n && std::abs(e[m]) > epsilon * (std::abs(d[m]) + std::abs(d[m + 1]))) ++m;
      if (m == l) break;
      if (step == kMaxSteps) return false;
      const double half = (d[l + 1] - d[l]) / (2 * e[l]);
      double g = d[m] - d[l] + e[l] / (half + std::copysign(std::hypot(half, 1.0), half));
      double s = 1, c = 1, p = 0;
      turns.clear();
      std::int64_t i = m - 1;
      for (; i >= l; --i) {
        const double f = s * e[i], b = c * e[i];
        const double r = std::hypot(f, g);
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
        if (z != nullptr) turns.push_back({i, c, s});
      }
      if (z != nullptr) turn_rows(z, n, turns);
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}

template <class T>
void run_eigh(const Launch& launch) {
  const MatrixBatch<T> input(input_of(launch, 0)), output(output_of(launch, 1));
  const Operand values = output_of(launch);
  const std::int64_t n = input.rows();
  if (n == 0) return;
  for_matrices(input.count(), 12 * n * n * n, [&](std::int64_t i) {
    T* const a = scratch<T>(0, n * n);
    T* const w = values.absent() ? scratch<T>(1, n) : reinterpret_cast<T*>(values.at(i * n));
    input.load(i, a);
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t c = 0; c < r; ++c) a[c * n + r] = a[r * n + c];
    }
    const bool vectors = !output.absent();
    double* const diagonal = scratch<double>(2, 2 * n);
    double* const beside = diagonal + n;
    T* const z = vectors ? scratch<T>(3, n * n) : nullptr;
    T* const reflections = vectors ? scratch<T>(4, n * n) : nullptr;
    T* const tau = scratch<T>(5, 2 * n);
    T* const room = tau + n;
    bool settled = row_matrix<T>().all_finite(a, n * n);
    int exponent = 0;
    if (settled) {
      exponent = scale_to_one(a, n * n);
      make_tridiagonal(a, n, reflections, tau, room, diagonal, beside);
      if (vectors) gather_reflections(reflections, tau, n, z, room);
      settled = settle(diagonal, beside, n, z);
    }
    if (!settled) {
      std::fill_n(w, n, std::numeric_limits<T>::quiet_NaN());
      if (vectors) output.fill(i, std::numeric_limits<T>::quiet_NaN());
      return;
    }
    std::int64_t* const order = scratch<std::int64_t>(6, n);
    std::iota(order, order + n, std::int64_t{0});
    std::sort(order, order + n, [&](std::int64_t x, std::int64_t y) {
      return diagonal[x] != diagonal[y] ? diagonal[x] < diagonal[y] : x < y;
    });
    for (std::int64_t k = 0; k < n; ++k) {
      w[k] = std::scalbn(static_cast<T>(diagonal[order[k]]), exponent);
      if (!vectors) continue;
      const T* const row = z + order[k] * n;
      const T most =
          *std::max_element(row, row + n, [](T x, T y) { return std::abs(x) < std::abs(y); });
      T* const to = output.result(i) + k;
      for (std::int64_t r = 0; r < n; ++r) to[r * n] = most < T(0) ? -row[r] : row[r];
    }
  });
}

void launch_eigh(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(), [&]<class T>() { run_eigh<T>(launch); });
}

constexpr Implementation kImplementations[] = {
    {.name = "ql", .op = &defs::eigh_op, .launch = launch_eigh, .may_omit = 0b11},
};

}  // namespace

Family eigh_family() { return kImplementations; }

}  // namespace hearth::cpu
