// One row of a recurrence with a state, once for every SIMD target.
//
// A part of a state that both passes over it find in the nearest cache: columns of the delta rule,
// rows of a scan.
#include "devices/cpu/rows/row_recurrence.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_recurrence.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/unroll.h"
#include "devices/cpu/rows/row_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

// kVectors columns of vectors of a delta rule: S^T k, then the state and S^T q.
template <int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void delta_columns(D d, T* state, int64_t dk, int64_t dv, T decay, const T* q,
                              const T* k, const T* v, T beta, T* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> delta[kVectors], sum[kVectors];
  HEARTH_UNROLL
  for (int i = 0; i < kVectors; ++i) sum[i] = hn::Zero(d);
  for (int64_t r = 0; r < dk; ++r) {
    const auto key = hn::Set(d, k[r]);
    HEARTH_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      sum[i] = hn::MulAdd(key, hn::LoadU(d, state + r * dv + i * lanes), sum[i]);
    }
  }
  const auto factor = hn::Set(d, decay), rate = hn::Set(d, beta);
  HEARTH_UNROLL
  for (int i = 0; i < kVectors; ++i) {
    delta[i] = hn::Mul(rate, hn::NegMulAdd(factor, sum[i], hn::LoadU(d, v + i * lanes)));
    sum[i] = hn::Zero(d);
  }
  for (int64_t r = 0; r < dk; ++r) {
    const auto key = hn::Set(d, k[r]), query = hn::Set(d, q[r]);
    HEARTH_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      T* const at = state + r * dv + i * lanes;
      const auto value = hn::MulAdd(key, delta[i], hn::Mul(factor, hn::LoadU(d, at)));
      hn::StoreU(value, d, at);
      sum[i] = hn::MulAdd(query, value, sum[i]);
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < kVectors; ++i) hn::StoreU(sum[i], d, y + i * lanes);
}

template <class T>
void delta_row(T* state, int64_t dk, int64_t dv, T decay, const T* q, const T* k, const T* v,
               T beta, T* y) {
  int64_t at = 0;
  const auto take = [&]<int kVectors>(auto d) ROW_BODY {
    const int64_t step = kVectors * static_cast<int64_t>(hn::Lanes(d));
    for (; at + step <= dv; at += step) {
      delta_columns<kVectors>(d, state + at, dk, dv, decay, q, k, v + at, beta, y + at);
    }
  };
  take.template operator()<4>(Tag<T>());
  take.template operator()<1>(Tag<T>());
  take.template operator()<1>(hn::CappedTag<T, 4>());
  take.template operator()<1>(hn::CappedTag<T, 1>());
}

// kRows rows of the state of a scan, which share b and c.
template <int kRows, class T>
HWY_INLINE void scan_rows(T* state, int64_t n, T decay, T scale, const T* x, const T* b, const T* c,
                          T* y) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, decay);
  Vector<T> sum[kRows], input[kRows];
  HEARTH_UNROLL
  for (int r = 0; r < kRows; ++r) {
    sum[r] = hn::Zero(d);
    input[r] = hn::Set(d, scale * x[r]);
  }
  const auto take = [&](auto io, int64_t i) ROW_BODY {
    const auto in = io.load(b + i), out = io.load(c + i);
    HEARTH_UNROLL
    for (int r = 0; r < kRows; ++r) {
      T* const at = state + r * n + i;
      const auto value = hn::MulAdd(input[r], in, hn::Mul(factor, io.load(at)));
      io.store(value, at);
      sum[r] = hn::MulAdd(value, out, sum[r]);
    }
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) take(Whole<T>{}, i);
  if (i < n) take(Part<T>{n - i}, i);
  HEARTH_UNROLL
  for (int r = 0; r < kRows; ++r) y[r] = hn::GetLane(hn::SumOfLanes(d, sum[r]));
}

template <class T>
void scan_row(T* state, int64_t p, int64_t n, T decay, T scale, const T* x, const T* b, const T* c,
              T* y) {
  constexpr int kRows = 4;
  int64_t r = 0;
  for (; r + kRows <= p; r += kRows) {
    scan_rows<kRows>(state + r * n, n, decay, scale, x + r, b, c, y + r);
  }
  for (; r < p; ++r) scan_rows<1>(state + r * n, n, decay, scale, x + r, b, c, y + r);
}

template <class T>
RowRecurrence<T> make_row_recurrence() {
  return {delta_row<T>, scan_row<T>};
}
RowRecurrence<float> make_row_recurrence32() { return make_row_recurrence<float>(); }
RowRecurrence<double> make_row_recurrence64() { return make_row_recurrence<double>(); }

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(make_row_recurrence32);
HWY_EXPORT(make_row_recurrence64);

}  // namespace

template <>
const RowRecurrence<float>& row_recurrence() {
  static const RowRecurrence<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_recurrence32)();
  return kernels;
}
template <>
const RowRecurrence<double>& row_recurrence() {
  static const RowRecurrence<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_recurrence64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif  // HWY_ONCE
