// Elementwise formulas on integer tiles.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "devices/cpu/regions/tile_integers.cc"
#include "hwy/foreach_target.h"
// After foreach_target, which includes this file once for each target.
#include "devices/cpu/regions/tile_formulas.h"

HWY_BEFORE_NAMESPACE();
namespace hearth::cpu {
namespace HWY_NAMESPACE {

void fill_integers(TileTable& table) {
  fill_ops<std::int32_t>(table);
  fill_ops<std::int64_t>(table);
  fill_ops<std::uint64_t>(table);
}

}  // namespace HWY_NAMESPACE
}  // namespace hearth::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hearth::cpu {

HWY_EXPORT(fill_integers);
void fill_tile_integers(TileTable& table) { HWY_DYNAMIC_DISPATCH(fill_integers)(table); }

}  // namespace hearth::cpu
#endif
