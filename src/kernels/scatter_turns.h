// Additions of a simdgroup's values to sums that several lanes may share. Text of the kernel dialect.

constexpr constant uint kMostPlaces = 1024u;

// sums[place * pitch] += value where `here`: lanes of equal places find each other bit by bit and
// take turns, lowest first. Places are below kMostPlaces; the sums are this simdgroup's alone.
template <typename A>
inline void add_in_turn(bool here, uint place, A value, threadgroup A* sums, uint pitch, Ctx ctx) {
  uint alike = lanes_where(here);
#pragma unroll
  for (uint bit = 1u; bit < kMostPlaces; bit *= 2u) {
    bool set = (place & bit) != 0u;
    uint lanes = lanes_where(set);
    alike &= set ? lanes : ~lanes;
  }
  uint turn = popcount(alike & ((1u << ctx.lane) - 1u));
  for (uint now = 0u; simd_any(here && turn >= now); ++now) {
    if (here && turn == now) sums[place * pitch] = A(sums[place * pitch] + value);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
