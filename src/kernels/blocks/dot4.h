// Products of four signed bytes each. Text of the kernel dialect.

// sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, of the bytes of two words.
HEARTH_INLINE int dot4(uint a, uint b, int sum) {
#if HEARTH_HAS_DOT4
  return metal::dot4(a, b, sum);
#else
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    sum += (int(a << (24 - i)) >> 24) * (int(b << (24 - i)) >> 24);
  }
  return sum;
#endif
}
