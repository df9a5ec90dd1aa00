// What parameter structs of several families have in common. Read by texts of the kernel dialect,
// and by the host, which includes it, as every params.h, inside namespace hearth::gpu. All members
// have 64 bits.
#pragma once

// Extents and strides, in elements, of up to kRank axes, outermost first. The first element is
// `base` elements after the pointer, which points to the lowest address that is touched.
template <int kRank>
struct Axes {
  long base;
  long extent[kRank];
  long stride[kRank];
};

// An extent and what 32-bit positions are divided by it with: kernels/blocks/divisor.h.
struct Divisor {
  long extent, magic, shift;
};

// Positions in a row are ints: rows are shorter than 2^30 elements.
struct RowSplitParams {
  long rows, length;
  long lanes, lane_bits;
  long shifted;  // the length is no multiple of a packet: packets follow the memory of each row
};
