// Systems of equations whose matrix is a triangle, once for every SIMD target.
#include "devices/cpu/rows/row_triangle.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_triangle.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/rows/row_matrix.h"
#include "devices/cpu/unroll.h"
#include "devices/cpu/rows/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

// Rows that go together; their sums stay in registers.
constexpr int kRows = 8;

// Rows [i, i + kCount) of a few columns, of which those above are done.
template <int kCount, int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void solve_rows(D d, Triangle<T> a, int64_t i, bool unit, T* x, int64_t x_stride) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[kCount][kVectors];
  HEARTH_UNROLL
  for (int r = 0; r < kCount; ++r) {
    HEARTH_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::LoadU(d, x + (i + r) * x_stride + v * lanes);
    }
  }
  const T* const rows = a.data + i * a.row_stride;
  for (int64_t j = 0; j < i; ++j) {
    hn::Vec<D> known[kVectors];
    HEARTH_UNROLL
    for (int v = 0; v < kVectors; ++v) known[v] = hn::LoadU(d, x + j * x_stride + v * lanes);
    const T* const column = rows + j * a.col_stride;
    HEARTH_UNROLL
    for (int r = 0; r < kCount; ++r) {
      const auto factor = hn::Set(d, column[r * a.row_stride]);
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::NegMulAdd(factor, known[v], sum[r][v]);
    }
  }
  HEARTH_UNROLL
  for (int r = 0; r < kCount; ++r) {
    const T* const row = rows + r * a.row_stride + i * a.col_stride;
    HEARTH_UNROLL
    for (int q = 0; q < r; ++q) {
      const auto factor = hn::Set(d, row[q * a.col_stride]);
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::NegMulAdd(factor, sum[q][v], sum[r][v]);
    }
    if (!unit) {
      const auto divisor = hn::Set(d, row[r * a.col_stride]);
      HEARTH_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Div(sum[r][v], divisor);
    }
    HEARTH_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], d, x + (i + r) * x_stride + v * lanes);
    }
  }
}

template <int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void solve_columns(D d, Triangle<T> a, int64_t n, bool unit, T* x, int64_t x_stride) {
  int64_t i = 0;
  for (; i + kRows <= n; i += kRows) solve_rows<kRows, kVectors>(d, a, i, unit, x, x_stride);
  for (; i < n; ++i) solve_rows<1, kVectors>(d, a, i, unit, x, x_stride);
}

template <class T>
void solve(Triangle<T> a, int64_t n, bool unit, T* x, int64_t x_stride, int64_t cols) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int kVectors = HWY_MAX_BYTES >= 64 ? 2 : 1;  // as many registers as there are
  int64_t c = 0;
  for (; c + kVectors * lanes <= cols; c += kVectors * lanes) {
    solve_columns<kVectors>(d, a, n, unit, x + c, x_stride);
  }
  for (; c + lanes <= cols; c += lanes) solve_columns<1>(d, a, n, unit, x + c, x_stride);
  const auto rest = [&](auto few) ROW_BODY {
    const auto count = static_cast<int64_t>(hn::Lanes(few));
    if (count >= lanes) return;
    for (; c + count <= cols; c += count) solve_columns<1>(few, a, n, unit, x + c, x_stride);
  };
  rest(hn::CappedTag<T, 8>());
  rest(hn::CappedTag<T, 4>());
  rest(hn::CappedTag<T, 1>());
}

template <class T>
void solve_vector(const T* a, int64_t row_stride, int64_t n, bool upper, bool unit, T* x) {
  for (int64_t done = 0; done < n; done += kRows) {
    const int64_t count = n - done < kRows ? n - done : kRows;
    const int64_t first = upper ? n - done - count : done;
    const int64_t from = upper ? first + count : 0;  // the unknowns that are done
    const T* const block = a + first * row_stride;
    T known[kRows];
    row_matrix<T>().dots(block + from, row_stride, count, done, x + from, known);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t r = upper ? count - 1 - k : k;
      const T* const row = block + r * row_stride + first;
      T value = x[first + r] - known[r];
      for (int64_t q = upper ? r + 1 : 0; q < (upper ? count : r); ++q) {
        value -= row[q] * x[first + q];
      }
      x[first + r] = unit ? value : value / row[r];
    }
  }
}

template <class T>
RowTriangle<T> make_row_triangle() {
  return {solve<T>, solve_vector<T>};
}
RowTriangle<float> make_row_triangle32() { return make_row_triangle<float>(); }
RowTriangle<double> make_row_triangle64() { return make_row_triangle<double>(); }

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(make_row_triangle32);
HWY_EXPORT(make_row_triangle64);

}  // namespace

template <>
const RowTriangle<float>& row_triangle() {
  static const RowTriangle<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_triangle32)();
  return kernels;
}
template <>
const RowTriangle<double>& row_triangle() {
  static const RowTriangle<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_triangle64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif  // HWY_ONCE
