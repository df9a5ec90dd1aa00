// The loops of factorizations over small parts of dense matrices, once for every SIMD target.
#include "devices/cpu/rows/row_matrix.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_matrix.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/unroll.h"
#include "devices/cpu/rows/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

// Rows of a matrix that go together; their sums stay in registers.
constexpr int kRows = 8;

// The first `count` elements, fewer than a vector has; others read as zero.
template <class T>
HWY_INLINE Vector<T> load_part(const T* x, int64_t count) {
#if HWY_MEM_OPS_MIGHT_FAULT
  return Part<T>{count}.load(x);
#else
  const Tag<T> d;
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, x);
#endif
}

template <class T>
bool all_finite(const T* x, int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d);
  auto s0 = zero, s1 = zero, s2 = zero, s3 = zero;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = hn::MulAdd(hn::LoadU(d, x + i), zero, s0);
    s1 = hn::MulAdd(hn::LoadU(d, x + i + lanes), zero, s1);
    s2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * lanes), zero, s2);
    s3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * lanes), zero, s3);
  }
  for (; i + lanes <= n; i += lanes) s0 = hn::MulAdd(hn::LoadU(d, x + i), zero, s0);
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) sum += x[i] * T(0);
  return sum == T(0);
}

// Of numbers; NaN are passed over.
template <class T>
T largest(const T* x, int64_t n) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto m0 = hn::Zero(d), m1 = m0;
  const auto take = [&](auto& most, int64_t at) ROW_BODY {
    const auto magnitude = hn::Abs(hn::LoadU(d, x + at));
    most = hn::IfThenElse(hn::Gt(magnitude, most), magnitude, most);
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    take(m0, i);
    take(m1, i + lanes);
  }
  for (; i + lanes <= n; i += lanes) take(m0, i);
  T most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(m0, m1)));
  for (; i < n; ++i) most = std::abs(x[i]) > most ? std::abs(x[i]) : most;
  return most;
}

template <class T>
int64_t pivot(const T* x, int64_t n) {
  if (x[0] != x[0]) return 0;
  const T most = largest(x, n);
  int64_t i = 0;
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sought = hn::Set(d, most);
  for (; i + lanes <= n; i += lanes) {
    const auto at = hn::FindFirstTrue(d, hn::Eq(hn::Abs(hn::LoadU(d, x + i)), sought));
    if (at >= 0) return i + at;
  }
  while (std::abs(x[i]) != most) ++i;
  return i;
}

template <class T>
void divide(T* x, T divisor, int64_t n) {
  const auto by = hn::Set(Tag<T>(), divisor);
  each<T>(n, [=](auto io, int64_t i) ROW_BODY { io.store(hn::Div(io.load(x + i), by), x + i); });
}

template <class T>
void dots(const T* a, int64_t stride, int64_t rows, int64_t cols, const T* x, T* result) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto take = [&]<int kCount>(int64_t r) ROW_BODY {
    const T* const first = a + r * stride;
    hn::Vec<Tag<T>> sum[kCount];
    HEARTH_UNROLL
    for (int k = 0; k < kCount; ++k) sum[k] = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= cols; i += lanes) {
      const auto v = hn::LoadU(d, x + i);
      HEARTH_UNROLL
      for (int k = 0; k < kCount; ++k) {
        sum[k] = hn::MulAdd(v, hn::LoadU(d, first + k * stride + i), sum[k]);
      }
    }
    if (i < cols) {
      const int64_t some = cols - i;
      const auto v = load_part(x + i, some);
      HEARTH_UNROLL
      for (int k = 0; k < kCount; ++k) {
        sum[k] = hn::MulAdd(v, load_part(first + k * stride + i, some), sum[k]);
      }
    }
    HEARTH_UNROLL
    for (int k = 0; k < kCount; ++k) result[r + k] = hn::GetLane(hn::SumOfLanes(d, sum[k]));
  };
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) take.template operator()<kRows>(r);
  for (; r < rows; ++r) take.template operator()<1>(r);
}

// Rows that go together: what they share is read once for all of them.
template <bool kFirst, bool kSecond, bool kSum, int kCount, class T>
HWY_INLINE void update_rows(T* a, int64_t stride, int64_t cols, const T* p, const T* y, const T* q,
                            const T* z, const T* f, T* sum) {
  const auto take = [&](auto d, int64_t c) ROW_BODY {
    auto total = hn::Zero(d), first = total, second = total;
    if constexpr (kSum) total = hn::LoadU(d, sum + c);
    if constexpr (kFirst) first = hn::LoadU(d, y + c);
    if constexpr (kSecond) second = hn::LoadU(d, z + c);
    HEARTH_UNROLL
    for (int r = 0; r < kCount; ++r) {
      T* const at = a + r * stride + c;
      auto value = hn::LoadU(d, at);
      if constexpr (kFirst) value = hn::NegMulAdd(hn::Set(d, p[r]), first, value);
      if constexpr (kSecond) value = hn::NegMulAdd(hn::Set(d, q[r]), second, value);
      if constexpr (kFirst) hn::StoreU(value, d, at);
      if constexpr (kSum) total = hn::MulAdd(hn::Set(d, f[r]), value, total);
    }
    if constexpr (kSum) hn::StoreU(total, d, sum + c);
  };
  const Tag<T> whole;
  const auto lanes = static_cast<int64_t>(hn::Lanes(whole));
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) take(whole, c);
  for (; c + 4 <= cols; c += 4) take(hn::CappedTag<T, 4>(), c);
  for (; c < cols; ++c) take(hn::CappedTag<T, 1>(), c);
}

template <bool kFirst, bool kSecond, bool kSum, class T>
void update_all(T* a, int64_t stride, int64_t rows, int64_t cols, const T* p, const T* y,
                const T* q, const T* z, const T* f, T* sum) {
  constexpr int kTogether = 4;
  if constexpr (kSum) {
    for (int64_t c = 0; c < cols; ++c) sum[c] = T(0);
  }
  int64_t r = 0;
  const auto part = [&](const T* column)
                        ROW_BODY { return column == nullptr ? nullptr : column + r; };
  for (; r + kTogether <= rows; r += kTogether) {
    update_rows<kFirst, kSecond, kSum, kTogether>(a + r * stride, stride, cols, part(p), y, part(q),
                                                  z, part(f), sum);
  }
  for (; r < rows; ++r) {
    update_rows<kFirst, kSecond, kSum, 1>(a + r * stride, stride, cols, part(p), y, part(q), z,
                                          part(f), sum);
  }
}

template <class T>
void update(T* a, int64_t stride, int64_t rows, int64_t cols, const T* p, const T* y, const T* q,
            const T* z, const T* f, T* sum) {
  const auto run =
      p == nullptr ? update_all<false, false, true, T>
      : sum == nullptr
          ? (q == nullptr ? update_all<true, false, false, T> : update_all<true, true, false, T>)
      : q == nullptr ? update_all<true, false, true, T>
                     : update_all<true, true, true, T>;
  run(a, stride, rows, cols, p, y, q, z, f, sum);
}

// A row that two rotations share stays in registers.
template <int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void rotate_columns(D d, T* a, int64_t stride, int64_t count, const T* cosines,
                               const T* sines) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> y[kVectors];
  T* row = a + count * stride;
  HEARTH_UNROLL
  for (int v = 0; v < kVectors; ++v) y[v] = hn::LoadU(d, row + v * lanes);
  for (int64_t i = count - 1; i >= 0; --i, row -= stride) {
    const auto c = hn::Set(d, cosines[i]), s = hn::Set(d, sines[i]);
    HEARTH_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, row - stride + v * lanes);
      hn::StoreU(hn::MulAdd(c, y[v], hn::Mul(s, x)), d, row + v * lanes);
      y[v] = hn::NegMulAdd(s, y[v], hn::Mul(c, x));
    }
  }
  HEARTH_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::StoreU(y[v], d, row + v * lanes);
}

template <class T>
void rotate(T* a, int64_t stride, int64_t count, int64_t cols, const T* cosines, const T* sines) {
  int64_t at = 0;
  const auto take = [&]<int kVectors>(auto d) ROW_BODY {
    const int64_t step = kVectors * static_cast<int64_t>(hn::Lanes(d));
    for (; at + step <= cols; at += step) {
      rotate_columns<kVectors>(d, a + at, stride, count, cosines, sines);
    }
  };
  take.template operator()<2>(Tag<T>());
  take.template operator()<1>(Tag<T>());
  take.template operator()<1>(hn::CappedTag<T, 4>());
  take.template operator()<1>(hn::CappedTag<T, 1>());
}

template <class T>
RowMatrix<T> make_row_matrix() {
  return {all_finite<T>, pivot<T>, divide<T>, largest<T>, update<T>, dots<T>, rotate<T>};
}
RowMatrix<float> make_row_matrix32() { return make_row_matrix<float>(); }
RowMatrix<double> make_row_matrix64() { return make_row_matrix<double>(); }

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(make_row_matrix32);
HWY_EXPORT(make_row_matrix64);

}  // namespace

template <>
const RowMatrix<float>& row_matrix() {
  static const RowMatrix<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_matrix32)();
  return kernels;
}
template <>
const RowMatrix<double>& row_matrix() {
  static const RowMatrix<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_matrix64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif  // HWY_ONCE
