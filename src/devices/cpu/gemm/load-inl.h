// Loads that convert to the type in which values are multiplied; included once for every target.

#if defined(HEARTH_DEVICES_CPU_GEMM_LOAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEARTH_DEVICES_CPU_GEMM_LOAD_INL_H_
#undef HEARTH_DEVICES_CPU_GEMM_LOAD_INL_H_
#else
#define HEARTH_DEVICES_CPU_GEMM_LOAD_INL_H_
#endif

#include "devices/cpu/unroll.h"
#include "hearth/dtype.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const hn::TFromD<D>* src) {
  return hn::LoadU(d, src);
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const float16* src) {
  const hn::Rebind<hwy::float16_t, D> dh;
  return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(src)));
}
template <class D>
HWY_INLINE hn::Vec<D> load_as(D d, const bfloat16* src) {
  const hn::Rebind<uint16_t, D> du16;
  const hn::Rebind<uint32_t, D> du32;
  const auto bits = hn::PromoteTo(du32, hn::LoadU(du16, reinterpret_cast<const uint16_t*>(src)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
