// A bitonic network over keys and places in threadgroup memory. Text of the kernel dialect.
//
// Places decide between equal keys, so the order does not depend on where the pairs were.

HEARTH_INLINE uint of_lane_xor(uint value, ushort mask) { return simd_shuffle_xor(value, mask); }
HEARTH_INLINE ulong of_lane_xor(ulong value, ushort mask) {
  ulong high = ulong(simd_shuffle_xor(uint(value >> 32), mask));
  return (high << 32) | ulong(simd_shuffle_xor(uint(value), mask));
}

// One pass at a distance of `step`, within runs of `size` that go up and down.
template <typename K, typename P>
inline void exchange_pairs(threadgroup K* keys, threadgroup P* places, uint pairs, uint width,
                           uint size, uint step, Ctx ctx) {
  for (uint pair = ctx.tid.x; pair < pairs; pair += ctx.ntid.x) {
    uint low = pair & (step - 1u);
    uint a = ((pair - low) << 1) + low, b = a + step;
    bool up = (a & (width - 1u) & size) == 0u;
    K key_a = keys[a], key_b = keys[b];
    P place_a = places[a], place_b = places[b];
    bool after = key_a > key_b || (key_a == key_b && place_a > place_b);
    if (after == up) {
      keys[a] = key_b;
      keys[b] = key_a;
      places[a] = place_b;
      places[b] = place_a;
    }
  }
}

// Sorts runs of `width`, a power of two, of 2 * pairs places in all. Barriers stand before and
// after it.
template <typename K, typename P>
inline void sort_places(threadgroup K* keys, threadgroup P* places, uint pairs, uint width,
                        Ctx ctx) {
  for (uint size = 2u; size <= width; size *= 2u) {
    for (uint step = size / 2u; step > 0u; step /= 2u) {
      exchange_pairs<K, P>(keys, places, pairs, width, size, step, ctx);
      // The 32 pairs of a simdgroup lie in 64 places of its own up to that distance.
      uint next = step > 1u ? step / 2u : size;
      if (step > 32u || next > 32u) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
      } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
  }
}
