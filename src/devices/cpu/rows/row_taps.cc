// Weighted elements of rows, once for every SIMD target.
#include "devices/cpu/rows/row_taps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_taps.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void add_taps(T* sums, const T* x, const TapIndex<T>* indices, const T* weights, std::int64_t n) {
  // Vectors of more than 64 bytes are not used.
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto index = hn::LoadU(di, indices + i);
    const auto reads = hn::RebindMask(d, hn::Gt(index, hn::Set(di, -1)));
    const auto value = hn::GatherIndex(d, x, hn::Max(index, hn::Zero(di)));
    const auto product = hn::IfThenElseZero(reads, hn::Mul(hn::LoadU(d, weights + i), value));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), product), d, sums + i);
  }
  for (; i < n; ++i) {
    if (indices[i] >= 0) sums[i] += weights[i] * x[indices[i]];
  }
}

RowTaps<float> make_row_taps32() { return {add_taps<float>}; }
RowTaps<double> make_row_taps64() { return {add_taps<double>}; }

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_row_taps32);
HWY_EXPORT(make_row_taps64);

template <>
const RowTaps<float>& row_taps() {
  static const RowTaps<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_taps32)();
  return kernels;
}
template <>
const RowTaps<double>& row_taps() {
  static const RowTaps<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_taps64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
