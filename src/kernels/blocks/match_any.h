// Lanes of a simdgroup that have the same number. Text of the kernel dialect.

// Of the lanes `among`, as bits, those whose number is this one's: found bit by bit. Numbers are
// below kMax, a power of two.
template <uint kMax>
HEARTH_INLINE uint match_any(uint among, uint number) {
  uint alike = among;
#pragma unroll
  for (uint bit = 1u; bit < kMax; bit *= 2u) {
    bool set = (number & bit) != 0u;
    uint lanes = ballot(set);
    alike &= set ? lanes : ~lanes;
  }
  return alike;
}
