// Products of small integers that share words. Text of the kernel dialect.
#pragma once

// sum + a0 b0 + a1 b1 + a2 b2 + a3 b3, of the bytes of two words: those of `a` unsigned, those of
// `b` signed.
HEARTH_INLINE int dot4(uint a, uint b, int sum) {
#if HEARTH_HAS_DOT4
  return metal::dot4(a, b, sum);
#else
#pragma unroll
  for (int i = 0; i < 32; i += 8) sum += int((a >> i) & 255u) * (int(b << (24 - i)) >> 24);
  return sum;
#endif
}

// sum + first p0 + last p1, of the signed halves of a word; -128 <= first, last < 128.
HEARTH_INLINE int dot2(uint pair, int first, int last, int sum) {
#if HEARTH_HAS_DOT4
  return metal::dot2(pair, (uint(first) & 255u) | ((uint(last) & 255u) << 8), sum);
#else
  return sum + first * (int(pair << 16) >> 16) + last * (int(pair) >> 16);
#endif
}
