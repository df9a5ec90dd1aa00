// Lanes of a simdgroup that have the same number. Text of the kernel dialect.

// Of the lanes `among`, as bits, those whose number is this one's: found bit by bit. Numbers are
// below kMost, a power of two.
template <uint kMost>
HEARTH_INLINE uint lanes_alike(uint among, uint number) {
  uint alike = among;
#pragma unroll
  for (uint bit = 1u; bit < kMost; bit *= 2u) {
    bool set = (number & bit) != 0u;
    uint lanes = lanes_where(set);
    alike &= set ? lanes : ~lanes;
  }
  return alike;
}
