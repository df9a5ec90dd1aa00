// Square blocks, turned in registers as they are loaded; included once for every target.

#if defined(HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_
#undef HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_
#else
#define HEARTH_DEVICES_CPU_GEMM_TURN_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "devices/cpu/unroll.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr int kLanesOf = static_cast<int>(hn::MaxLanes(D()));

#if HWY_TARGET != HWY_SCALAR
// Blocks of 16 bytes, the first at `from`, the next ones `stride` bytes further. Only the first
// is loaded to be moved: the others go where they belong on their way, which takes no shuffle.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const std::byte* from,
                                  [[maybe_unused]] std::int64_t stride) {
  if constexpr (kLanesOf<D> * sizeof(T) <= 16) {
    return hn::LoadU(d, reinterpret_cast<const T*>(from));
  } else if constexpr (kLanesOf<D> * sizeof(T) == 32) {
    const hn::Half<D> dh;
    return hn::Combine(d, hn::LoadU(dh, reinterpret_cast<const T*>(from + stride)),
                       hn::LoadU(dh, reinterpret_cast<const T*>(from)));
  } else {
#if HWY_MAX_BYTES == 64
    const auto at = [&](std::int64_t block) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + block * stride));
    };
    __m512i v = _mm512_castsi128_si512(at(0));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, at(1));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, at(2));
    v = _mm512_mask_broadcast_i32x4(v, 0xf000, at(3));
    return hn::BitCast(d, hn::Vec512<std::int32_t>{v});
#endif
  }
}

#endif

// As many columns as a vector has lanes, `stride` bytes apart, turned: lane j of v[i] is value i of column j.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void load_turned(D d, const std::byte* from, std::int64_t stride,
                            hn::Vec<D> (&v)[kLanesOf<D>]) {
#if HWY_TARGET == HWY_SCALAR
  (void)stride;
  v[0] = hn::LoadU(d, reinterpret_cast<const T*>(from));
#else
  constexpr int kLanes = kLanesOf<D>;
  constexpr int kEach = 16 / static_cast<int>(sizeof(T));  // lanes of a block
  constexpr int kBlocks = kLanes / kEach;
  using V = hn::Vec<D>;
  // s[kEach * c + j] has, in block q, values kEach * c and on of column kEach * q + j.
  V s[kLanes];
  HEARTH_UNROLL
  for (int j = 0; j < kEach; ++j) {
    HEARTH_UNROLL
    for (int c = 0; c < kBlocks; ++c) {
      s[kEach * c + j] = load_blocks(d, from + j * stride + 16 * c, kEach * stride);
    }
  }
  HEARTH_UNROLL
  for (int c = 0; c < kLanes; c += kEach) {
    if constexpr (kEach == 2) {
      v[c] = hn::InterleaveLower(d, s[c], s[c + 1]);
      v[c + 1] = hn::InterleaveUpper(d, s[c], s[c + 1]);
    } else {
      const hn::RepartitionToWide<D> dw;
      const auto a = hn::BitCast(dw, hn::InterleaveLower(d, s[c], s[c + 1]));
      const auto b = hn::BitCast(dw, hn::InterleaveUpper(d, s[c], s[c + 1]));
      const auto e = hn::BitCast(dw, hn::InterleaveLower(d, s[c + 2], s[c + 3]));
      const auto f = hn::BitCast(dw, hn::InterleaveUpper(d, s[c + 2], s[c + 3]));
      v[c] = hn::BitCast(d, hn::InterleaveLower(dw, a, e));
      v[c + 1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, e));
      v[c + 2] = hn::BitCast(d, hn::InterleaveLower(dw, b, f));
      v[c + 3] = hn::BitCast(d, hn::InterleaveUpper(dw, b, f));
    }
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
