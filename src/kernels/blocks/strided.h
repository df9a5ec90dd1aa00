// Positions in strided arrays. Text of the kernel dialect.

#include "kernels/blocks/params.h"

// Where element `i` of the axes lies, counted in row-major order. I is the unsigned type that
// holds every position: divisions of 64-bit integers cost several times those of 32-bit ones.
template <typename I, int kRank>
inline long offset_of(I i, constant Axes<kRank>& axes) {
  long offset = axes.base;
  for (int axis = kRank - 1; axis > 0; --axis) {
    I next = i / I(axes.extent[axis]);
    offset += long(i - next * I(axes.extent[axis])) * axes.stride[axis];
    i = next;
  }
  return offset + long(i) * axes.stride[0];
}
