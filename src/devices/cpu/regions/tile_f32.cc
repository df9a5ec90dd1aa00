// Elementwise formulas on f32 tiles.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/regions/tile_f32.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/regions/tile_formulas.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

void fill_f32(TileTable& table) { fill_ops<float>(table); }

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(fill_f32);
void fill_tile_f32(TileTable& table) { HWY_DYNAMIC_DISPATCH(fill_f32)(table); }

}  // namespace hearth::cpu
#endif
