// Updates by a simdgroup's values of elements that several lanes may share. Text of the kernel
// dialect.

#include "kernels/blocks/match_any.h"
#include "kernels/indexing/updates.metal"

constexpr constant uint kMaxPlaces = 1024u;

// sums[place * pitch] becomes what rule R makes of it and of value, where `here`: lanes of equal
// places take turns, lowest first. Places are below kMaxPlaces; the sums are this simdgroup's
// alone.
template <typename R, typename A>
inline void update_in_turn(bool here, uint place, A value, threadgroup A* sums, uint pitch,
                           Ctx ctx) {
  uint alike = match_any<kMaxPlaces>(ballot(here), place);
  uint turn = popcount(alike & ((1u << ctx.lane) - 1u));
  for (uint now = 0u; simd_any(here && turn >= now); ++now) {
    if (here && turn == now) sums[place * pitch] = R::combine(sums[place * pitch], value);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
