// Turning square blocks in registers; included once for every target.

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

#if HWY_MAX_BYTES == 64
template <int kSelect>
HWY_INLINE hn::Vec512<float> select_blocks(hn::Vec512<float> a, hn::Vec512<float> b) {
  return hn::Vec512<float>{_mm512_shuffle_f32x4(a.raw, b.raw, kSelect)};
}
template <int kSelect>
HWY_INLINE hn::Vec512<double> select_blocks(hn::Vec512<double> a, hn::Vec512<double> b) {
  return hn::Vec512<double>{_mm512_shuffle_f64x2(a.raw, b.raw, kSelect)};
}
#endif

// Lane i of vector j and lane j of vector i change places, for as many vectors as lanes.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void turn([[maybe_unused]] D d, [[maybe_unused]] V (&v)[kLanesOf<D>]) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int kLanes = kLanesOf<D>;
  constexpr int kEach = 16 / static_cast<int>(sizeof(hn::TFromD<D>));  // lanes of a block
  // Within blocks: v[kEach * q + e] has, in block x, lane kEach * x + e of vectors from kEach * q.
  V s[kLanes];
  HEARTH_UNROLL
  for (int j = 0; j < kLanes; j += 2) {
    s[j] = hn::InterleaveLower(d, v[j], v[j + 1]);
    s[j + 1] = hn::InterleaveUpper(d, v[j], v[j + 1]);
  }
  if constexpr (kEach == 4) {
    const hn::RepartitionToWide<D> dw;
    HEARTH_UNROLL
    for (int j = 0; j < kLanes; j += 4) {
      const auto a = hn::BitCast(dw, s[j]), b = hn::BitCast(dw, s[j + 1]);
      const auto c = hn::BitCast(dw, s[j + 2]), e = hn::BitCast(dw, s[j + 3]);
      s[j] = hn::BitCast(d, hn::InterleaveLower(dw, a, c));
      s[j + 1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, c));
      s[j + 2] = hn::BitCast(d, hn::InterleaveLower(dw, b, e));
      s[j + 3] = hn::BitCast(d, hn::InterleaveUpper(dw, b, e));
    }
  }
  constexpr int kBlocks = kLanes / kEach;
  HEARTH_UNROLL
  for (int e = 0; e < kEach; ++e) {
    if constexpr (kBlocks == 1) {
      v[e] = s[e];
    } else if constexpr (kBlocks == 2) {
      v[e] = hn::ConcatLowerLower(d, s[kEach + e], s[e]);
      v[kEach + e] = hn::ConcatUpperUpper(d, s[kEach + e], s[e]);
    } else {
#if HWY_MAX_BYTES == 64
      const V low = select_blocks<0x44>(s[e], s[kEach + e]);
      const V high = select_blocks<0xee>(s[e], s[kEach + e]);
      const V low_behind = select_blocks<0x44>(s[2 * kEach + e], s[3 * kEach + e]);
      const V high_behind = select_blocks<0xee>(s[2 * kEach + e], s[3 * kEach + e]);
      v[e] = select_blocks<0x88>(low, low_behind);
      v[kEach + e] = select_blocks<0xdd>(low, low_behind);
      v[2 * kEach + e] = select_blocks<0x88>(high, high_behind);
      v[3 * kEach + e] = select_blocks<0xdd>(high, high_behind);
#endif
    }
  }
#endif
}

// As many columns as a vector has lanes, `stride` bytes apart, turned: lane j of v[i] is value i of
// column j.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void load_turned(D d, const std::byte* from, std::int64_t stride,
                            hn::Vec<D> (&v)[kLanesOf<D>]) {
  HEARTH_UNROLL
  for (int j = 0; j < kLanesOf<D>; ++j) {
    v[j] = hn::LoadU(d, reinterpret_cast<const T*>(from + j * stride));
  }
  turn(d, v);
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
