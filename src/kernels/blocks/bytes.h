// Bytes of words, chosen by nibbles. Text of the kernel dialect.
#pragma once

// Four of the eight bytes of `low` and `high`, by the lowest four nibbles of `which`, which are
// below 8.
HEARTH_INLINE uint pick_bytes(uint low, uint high, uint which) {
#if HEARTH_HAS_PICK4
  return metal::pick4(low, high, which);
#else
  uint picked = 0u;
#pragma unroll
  for (uint i = 0u; i < 4u; ++i) {
    uint word = (which & (4u << (4u * i))) != 0u ? high : low;
    picked |= ((word >> (8u * ((which >> (4u * i)) & 3u))) & 255u) << (8u * i);
  }
  return picked;
#endif
}

// The same of a table, the lower half of which stays in a register.
HEARTH_INLINE uint pick_of_table(uint low, uint high, uint which) {
#if HEARTH_HAS_PICK4
  return metal::pick4(metal::kept(low), high, which);
#else
  return pick_bytes(low, high, which);
#endif
}

// Bytes of ones where the top bit of a byte is set, of zeros elsewhere.
HEARTH_INLINE uint negative_bytes(uint word) {
#if HEARTH_HAS_PICK4
  return metal::pick4(word, word, 0xba98u);
#else
  return ((word >> 7) & 0x01010101u) * 255u;
#endif
}
