// Numbers of launches as words: those of parameters are the bits of an f64. Text of the kernel
// dialect.

#include "kernels/blocks/dynamics.h"

// In the type C that a kernel computes in.
template <typename C>
struct Number {
  static HEARTH_INLINE C of(long word) { return dynamic_float(ulong(word)); }
};
#if HEARTH_HAS_F64
template <>
struct Number<double> {
  static HEARTH_INLINE double of(long word) { return as_type<double>(ulong(word)); }
};
#endif
