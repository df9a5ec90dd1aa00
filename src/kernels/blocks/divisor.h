// Division by what the host knows, gpu::divisor(). Text of the kernel dialect.
#include "kernels/blocks/elements.h"
#include "kernels/blocks/params.h"

// Positions of 32 bits are below 2^31, and so is the extent.
HEARTH_INLINE uint divided(uint n, constant Divisor& by) {
  return divided(n, uint(by.magic), uint(by.shift));
}
HEARTH_INLINE ulong divided(ulong n, constant Divisor& by) { return n / ulong(by.extent); }
// Neither is negative.
HEARTH_INLINE int divided(int n, constant Divisor& by) { return int(divided(uint(n), by)); }
HEARTH_INLINE long divided(long n, constant Divisor& by) { return long(divided(ulong(n), by)); }
