// Distances of rows to packed columns, once for every SIMD target.
#include "devices/cpu/rows/row_distances.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_distances.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include <hwy/highway.h>

#include "devices/cpu/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of more than 64 bytes are not used.
template <class T>
using DistanceTag = hn::CappedTag<T, 64 / sizeof(T)>;

template <DistanceSum kSum, class V>
V joined(V sum, V part) {
  if constexpr (kSum == DistanceSum::largest) {
    const auto wins = hn::Or(hn::Gt(part, sum), hn::IsNaN(part));
    return hn::IfThenElse(wins, part, sum);
  } else {
    return hn::Add(sum, part);
  }
}

template <DistanceSum kSum, class T>
void join_rows(const T* const* rows, const T* panel, std::int64_t length, T* totals) {
  const DistanceTag<T> d;
  using V = hn::Vec<DistanceTag<T>>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[kDistanceRows][2];
  HEARTH_UNROLL
  for (int i = 0; i < kDistanceRows; ++i) sums[i][0] = sums[i][1] = hn::Zero(d);
  for (std::int64_t k = 0; k < length; ++k) {
    const V first = hn::LoadU(d, panel + 2 * k * lanes);
    const V second = hn::LoadU(d, panel + (2 * k + 1) * lanes);
    HEARTH_UNROLL
    for (int i = 0; i < kDistanceRows; ++i) {
      const V x = hn::Set(d, rows[i][k]);
      const V u = hn::Sub(x, first), v = hn::Sub(x, second);
      if constexpr (kSum == DistanceSum::squares) {
        sums[i][0] = hn::MulAdd(u, u, sums[i][0]);
        sums[i][1] = hn::MulAdd(v, v, sums[i][1]);
      } else {
        sums[i][0] = joined<kSum>(sums[i][0], hn::Abs(u));
        sums[i][1] = joined<kSum>(sums[i][1], hn::Abs(v));
      }
    }
  }
  HEARTH_UNROLL
  for (int i = 0; i < kDistanceRows; ++i) {
    HEARTH_UNROLL
    for (int j = 0; j < 2; ++j) {
      T* const at = totals + (2 * i + j) * lanes;
      hn::StoreU(joined<kSum>(hn::LoadU(d, at), sums[i][j]), d, at);
    }
  }
}

template <class T>
void join_sums(DistanceSum sum, const T* const* rows, const T* panel, std::int64_t length,
               T* totals) {
  switch (sum) {
    case DistanceSum::squares:
      return join_rows<DistanceSum::squares>(rows, panel, length, totals);
    case DistanceSum::magnitudes:
      return join_rows<DistanceSum::magnitudes>(rows, panel, length, totals);
    case DistanceSum::largest:
      return join_rows<DistanceSum::largest>(rows, panel, length, totals);
  }
}

template <class T>
bool from_products(T square, const T* squares, T near, std::int64_t n, T* products) {
  const DistanceTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Products of halves lose what is subnormal.
  constexpr T kLeast = T(0x1p-90f);
  const auto s = hn::Set(d, square), limit = hn::Set(d, near), none = hn::Set(d, T(-1));
  auto some = hn::MaskFromVec(hn::Zero(d));
  const auto distance = [=](auto product, auto of_y) HWY_ATTR {
    const auto both = hn::Add(s, of_y);
    const auto apart = hn::NegMulAdd(hn::Set(d, T(2)), product, both);
    // An infinity is not above any part of an infinity.
    const auto least = hn::Max(hn::Mul(limit, both), hn::Set(d, kLeast));
    return hn::IfThenElse(hn::Gt(apart, least), hn::Sqrt(apart), none);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto y = distance(hn::LoadU(d, products + i), hn::LoadU(d, squares + i));
    some = hn::Or(some, hn::Lt(y, hn::Zero(d)));
    hn::StoreU(y, d, products + i);
  }
  bool any = !hn::AllFalse(d, some);
  for (; i < n; ++i) {
    const T both = square + squares[i], apart = both - 2 * products[i];
    products[i] = apart > std::max(near * both, kLeast) ? std::sqrt(apart) : T(-1);
    any = any || products[i] < 0;
  }
  return any;
}

template <class T>
RowDistances<T> make_row_distances() {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(DistanceTag<T>()));
  return {2 * lanes, join_sums<T>, from_products<T>};
}
RowDistances<float> make_row_distances32() { return make_row_distances<float>(); }
RowDistances<double> make_row_distances64() { return make_row_distances<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(make_row_distances32);
HWY_EXPORT(make_row_distances64);

template <>
const RowDistances<float>& row_distances() {
  static const RowDistances<float> kernels = HWY_DYNAMIC_DISPATCH(make_row_distances32)();
  return kernels;
}
template <>
const RowDistances<double>& row_distances() {
  static const RowDistances<double> kernels = HWY_DYNAMIC_DISPATCH(make_row_distances64)();
  return kernels;
}

}  // namespace hearth::cpu
#endif
