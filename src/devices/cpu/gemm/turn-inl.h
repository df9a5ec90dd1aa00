// Small matrices turned in registers; included once for every target.

#if defined(HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_
#undef HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_
#else
#define HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "devices/cpu/unroll.h"
#include "hwy/highway.h"
#include "devices/cpu/gemm/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
constexpr std::int64_t kTurn = 0;
template <class T>
void transpose(const T*, std::int64_t, T*, std::int64_t) {}
#else
// Rows that transpose() takes at a time.
constexpr std::int64_t kTurn = HWY_MAX_BYTES / 4 < 16 ? HWY_MAX_BYTES / 4 : 16;

// Four values from each of the rows 0, 4, 8 ... of the source, one after the other.
template <class D>
HWY_INLINE hn::Vec<D> gather_rows(D d, const hn::TFromD<D>* src, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, src);
  } else {
    const hn::Half<D> dh;
    constexpr auto kHalf = static_cast<std::int64_t>(hn::MaxLanes(hn::Half<D>()));
    return hn::Combine(d, gather_rows(dh, src + kHalf * stride, stride),
                       gather_rows(dh, src, stride));
  }
}

// dst[i * dst_stride + j] = src[i + j * stride] for i < 4 and j < kTurn.
template <class T>
HWY_INLINE void transpose(const T* src, std::int64_t stride, T* dst, std::int64_t dst_stride) {
  if constexpr (std::is_same_v<T, float>) {
    const hn::CappedTag<float, kTurn> d;
    const hn::RepartitionToWide<decltype(d)> dw;
    const auto r0 = gather_rows(d, src, stride);
    const auto r1 = gather_rows(d, src + stride, stride);
    const auto r2 = gather_rows(d, src + 2 * stride, stride);
    const auto r3 = gather_rows(d, src + 3 * stride, stride);
    const auto a = hn::BitCast(dw, hn::InterleaveLower(d, r0, r1));
    const auto b = hn::BitCast(dw, hn::InterleaveLower(d, r2, r3));
    const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, r0, r1));
    const auto f = hn::BitCast(dw, hn::InterleaveUpper(d, r2, r3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, a, b)), d, dst);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, a, b)), d, dst + dst_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dw, e, f)), d, dst + 2 * dst_stride);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dw, e, f)), d, dst + 3 * dst_stride);
  } else if constexpr (std::is_same_v<T, double>) {
    const hn::FixedTag<double, 2> d;
    for (int i = 0; i < 4; i += 2) {
      for (std::int64_t j = 0; j < kTurn; j += 2) {
        const auto r0 = hn::LoadU(d, src + j * stride + i);
        const auto r1 = hn::LoadU(d, src + (j + 1) * stride + i);
        hn::StoreU(hn::InterleaveLower(d, r0, r1), d, dst + i * dst_stride + j);
        hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, dst + (i + 1) * dst_stride + j);
      }
    }
  } else {
    for (int i = 0; i < 4; ++i) {
      for (std::int64_t j = 0; j < kTurn; ++j) dst[i * dst_stride + j] = src[i + j * stride];
    }
  }
}

// dst[i * dst_stride + j] = src[i + j * stride], converted, for i and j below 16, where a vector
// holds as many.
template <class S>
HWY_INLINE void turn_16(const S* src, std::int64_t stride, float* dst, std::int64_t dst_stride) {
  const hn::CappedTag<float, 16> d;
  const hn::RepartitionToWide<decltype(d)> dw;
  using V = hn::Vec<decltype(d)>;
  V pairs[16], fours[16];
  HEARTH_UNROLL
  for (int j = 0; j < 16; j += 2) {
    const V a = load_as(d, src + j * stride), b = load_as(d, src + (j + 1) * stride);
    pairs[j] = hn::InterleaveLower(d, a, b);
    pairs[j + 1] = hn::InterleaveUpper(d, a, b);
  }
  // fours[4 q + e] has, in its block x, value 4 x + e of columns 4 q to 4 q + 3.
  HEARTH_UNROLL
  for (int j = 0; j < 16; j += 4) {
    HEARTH_UNROLL
    for (int e = 0; e < 2; ++e) {
      const auto a = hn::BitCast(dw, pairs[j + e]), b = hn::BitCast(dw, pairs[j + e + 2]);
      fours[j + 2 * e] = hn::BitCast(d, hn::InterleaveLower(dw, a, b));
      fours[j + 2 * e + 1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, b));
    }
  }
  HEARTH_UNROLL
  for (int e = 0; e < 4; ++e) {
    const V a = fours[e], b = fours[4 + e], c = fours[8 + e], f = fours[12 + e];
    const V even_ab = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    const V odd_ab = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    const V even_cf = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(f), c);
    const V odd_cf = hn::OddEvenBlocks(f, hn::SwapAdjacentBlocks(c));
    hn::StoreU(hn::ConcatLowerLower(d, even_cf, even_ab), d, dst + e * dst_stride);
    hn::StoreU(hn::ConcatLowerLower(d, odd_cf, odd_ab), d, dst + (4 + e) * dst_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, even_cf, even_ab), d, dst + (8 + e) * dst_stride);
    hn::StoreU(hn::ConcatUpperUpper(d, odd_cf, odd_ab), d, dst + (12 + e) * dst_stride);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
