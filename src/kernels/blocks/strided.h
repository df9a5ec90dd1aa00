// Positions in strided arrays. Text of the kernel dialect.

// Extents and strides, in elements, of up to kRank axes, outermost first. The first element is
// `base` elements behind the pointer, which points to the lowest address that is touched.
template <int kRank>
struct Axes {
  long base;
  long extent[kRank];
  long stride[kRank];
};

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
