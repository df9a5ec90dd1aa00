// Two 16-bit floats a word, in the halves of a word each. Text of the kernel dialect.
#pragma once

#include "kernels/blocks/elements.h"

// Rounded once.
HEARTH_INLINE uint half_differences(uint a, uint b) {
#if HEARTH_HAS_HALF_PAIRS
  return metal::half_differences(a, b);
#else
  uint made = 0u;
  for (int i = 0; i < 2; ++i) F16::put(&made, i, F16::get(&a, i) - F16::get(&b, i));
  return made;
#endif
}
HEARTH_INLINE uint half_products(uint a, uint b) {
#if HEARTH_HAS_HALF_PAIRS
  return metal::half_products(a, b);
#else
  uint made = 0u;
  for (int i = 0; i < 2; ++i) F16::put(&made, i, F16::get(&a, i) * F16::get(&b, i));
  return made;
#endif
}
