// Systems of equations whose matrix is a triangle.
#include "devices/cpu/ops/decompositions/decompositions.h"
#include "devices/cpu/ops/decompositions/triangle.h"

namespace hearth::cpu {
namespace {

// Of the elements that a solution reads.
template <class T>
bool is_triangle_finite(TriangularMatrix<T> t, std::int64_t n) {
  if (t.a.col_stride != 1 && t.a.row_stride == 1) {  // the transpose
    std::swap(t.a.row_stride, t.a.col_stride);
    t.upper = !t.upper;
  }
  const std::int64_t inside = t.unit ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = t.upper ? i + inside : 0, last = t.upper ? n : i + 1 - inside;
    const T* const row = t.a.data + i * t.a.row_stride;
    if (t.a.col_stride == 1) {
      if (first < last && !row_matrix<T>().all_finite(row + first, last - first)) return false;
      continue;
    }
    for (std::int64_t j = first; j < last; ++j) {
      if (!std::isfinite(row[j * t.a.col_stride])) return false;
    }
  }
  return true;
}

template <class T>
void run_triangular_solve(const Launch& launch) {
  const MatrixBatch<T> a(input_of(launch, 0)), b(input_of(launch, 1)), output(output_of(launch));
  ParamReader statics = statics_of(launch);
  const bool upper = statics.boolean(), unit = statics.boolean();
  const std::int64_t n = a.rows(), cols = b.cols();
  for_matrices(a.count(), n * n * (cols + 1), [&](std::int64_t i) {
    const TriangularMatrix<T> triangle = {
        {a.place(i), a.row_stride(), a.col_stride()}, upper, unit};
    if (!is_triangle_finite(triangle, n)) {
      return output.fill(i, std::numeric_limits<T>::quiet_NaN());
    }
    T* const x = output.result(i);
    b.load(i, x);
    solve_triangle(triangle, n, x, cols, cols, scratch<T>(0, triangle_workspace(n, cols)));
  });
}

}  // namespace

void launch_triangular_solve(const Launch& launch) {
  with_compute_type(input_of(launch, 0).dtype(),
                    [&]<class T>() { run_triangular_solve<T>(launch); });
}

}  // namespace hearth::cpu
