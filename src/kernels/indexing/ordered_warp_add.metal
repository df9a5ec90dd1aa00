// Additions of a simdgroup's values to sums that several lanes may share. Text of the kernel
// dialect.

#include "kernels/blocks/match_any.h"

constexpr constant uint kMaxPlaces = 1024u;

// sums[place * pitch] += value where `here`: lanes of equal places take turns, lowest first.
// Places are below kMaxPlaces; the sums are this simdgroup's alone.
template <typename A>
inline void add_in_turn(bool here, uint place, A value, threadgroup A* sums, uint pitch, Ctx ctx) {
  uint alike = match_any<kMaxPlaces>(ballot(here), place);
  uint turn = popcount(alike & ((1u << ctx.lane) - 1u));
  for (uint now = 0u; simd_any(here && turn >= now); ++now) {
    if (here && turn == now) sums[place * pitch] = A(sums[place * pitch] + value);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
