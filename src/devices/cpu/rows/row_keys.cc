// Keys of rows, once for every SIMD target.
#include "devices/cpu/rows/row_keys.h"

#include <algorithm>

// The baseline, AVX2 and AVX3 or NEON.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/rows/row_keys.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// After foreach_target, which includes this file once for each target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

template <class U>
U scalar_key(U bits, RowKeyRule rule) {
  const U flip = static_cast<U>(rule.flip), infinity = static_cast<U>(rule.infinity);
  switch (rule.form) {
    case Form::truth:
      return element_key<U, Form::truth>(bits, flip, infinity);
    case Form::floating:
      return element_key<U, Form::floating>(bits, flip, infinity);
    case Form::integer:
      break;
  }
  return element_key<U, Form::integer>(bits, flip, infinity);
}

// As element_key() of floats, but for `flip`.
template <class D, class V>
HWY_INLINE V float_keys(D d, V bits, V infinity) {
  using U = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  const V sign = hn::Set(d, kKeySign<U>);
  const V negative = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, bits)));
  const V magnitude = hn::AndNot(sign, bits);
  const V key = hn::Xor(bits, hn::Or(negative, sign));
  const V kept = hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), sign, key);
  // Without their signs they compare alike as signed numbers.
  const auto is_nan =
      hn::RebindMask(d, hn::Gt(hn::BitCast(di, magnitude), hn::BitCast(di, infinity)));
  return hn::IfThenElse(is_nan, hn::Set(d, static_cast<U>(~U{0})), kept);
}

template <class U>
void make(const U* x, int64_t n, RowKeyRule rule, int64_t groups, U* keys, U* least) {
  const hn::CappedTag<U, kKeyGroups> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  std::fill_n(least, groups, static_cast<U>(~U{0}));
  const auto flip = hn::Set(d, static_cast<U>(rule.flip));
  const auto infinity = hn::Set(d, static_cast<U>(rule.infinity));
  const auto one = hn::Set(d, U{1});
  const bool is_float = rule.form == Form::floating;
  const bool is_truth = rule.form == Form::truth;
  int64_t i = 0;
  for (; i + groups <= n; i += groups) {
    for (int64_t at = 0; at < groups; at += lanes) {
      auto key = hn::LoadU(d, x + i + at);
      if (is_float) {
        key = float_keys(d, key, infinity);
      } else if (is_truth) {
        key = hn::Min(key, one);
      }
      key = hn::Xor(key, flip);
      hn::StoreU(key, d, keys + i + at);
      hn::StoreU(hn::Min(key, hn::LoadU(d, least + at)), d, least + at);
    }
  }
  for (int64_t at = 0; i < n; ++i, ++at) {
    keys[i] = scalar_key(x[i], rule);
    least[at] = std::min(least[at], keys[i]);
  }
}

template <class U>
int64_t find(const U* keys, int64_t n, U most, std::uint32_t* places) {
  const hn::CappedTag<U, kKeyGroups> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, most);
  int64_t count = 0, i = 0;
  const auto visit = [&](int64_t end) {
    for (; i < end; ++i) {
      places[count] = static_cast<std::uint32_t>(i);
      count += keys[i] <= most ? 1 : 0;
    }
  };
  for (; i + 4 * lanes <= n;) {
    const auto a = hn::Min(hn::LoadU(d, keys + i), hn::LoadU(d, keys + i + lanes));
    const auto b = hn::Min(hn::LoadU(d, keys + i + 2 * lanes), hn::LoadU(d, keys + i + 3 * lanes));
    const auto lowest = hn::Min(a, b);
    if (hn::AllFalse(d, hn::Eq(hn::Min(lowest, limit), lowest))) {
      i += 4 * lanes;
    } else {
      visit(i + 4 * lanes);
    }
  }
  visit(n);
  return count;
}

template <class U>
constexpr RowKeys<U> kLoops = {.make = make<U>, .find = find<U>};

const RowKeys<std::uint8_t>* keys_u8() { return &kLoops<std::uint8_t>; }
const RowKeys<std::uint16_t>* keys_u16() { return &kLoops<std::uint16_t>; }
const RowKeys<std::uint32_t>* keys_u32() { return &kLoops<std::uint32_t>; }
const RowKeys<std::uint64_t>* keys_u64() { return &kLoops<std::uint64_t>; }

}  // namespace
}  // namespace hearth::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {
namespace {

HWY_EXPORT(keys_u8);
HWY_EXPORT(keys_u16);
HWY_EXPORT(keys_u32);
HWY_EXPORT(keys_u64);

}  // namespace

template <>
const RowKeys<std::uint8_t>& row_keys<std::uint8_t>() {
  static const RowKeys<std::uint8_t>* const table = HWY_DYNAMIC_DISPATCH(keys_u8)();
  return *table;
}
template <>
const RowKeys<std::uint16_t>& row_keys<std::uint16_t>() {
  static const RowKeys<std::uint16_t>* const table = HWY_DYNAMIC_DISPATCH(keys_u16)();
  return *table;
}
template <>
const RowKeys<std::uint32_t>& row_keys<std::uint32_t>() {
  static const RowKeys<std::uint32_t>* const table = HWY_DYNAMIC_DISPATCH(keys_u32)();
  return *table;
}
template <>
const RowKeys<std::uint64_t>& row_keys<std::uint64_t>() {
  static const RowKeys<std::uint64_t>* const table = HWY_DYNAMIC_DISPATCH(keys_u64)();
  return *table;
}

}  // namespace hearth::cpu
#endif  // HWY_ONCE
