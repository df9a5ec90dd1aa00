// Sums and maxima over the lanes of a simdgroup that makes a row or a block. Text of the kernel
// dialect.

#include "kernels/blocks/elements.h"

HEARTH_INLINE float lanes_max(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    x = metal::max(x, shuffle_xor(x, ushort(distance)));
  }
  return x;
}
HEARTH_INLINE float lanes_sum(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x = x + shuffle_xor(x, ushort(distance));
  return x;
}
