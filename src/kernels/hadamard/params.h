// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of hadamard(): blocks of a row and in all; the bits of an f64, 1 over the root of a block's
// length; the axes are those of rows, in elements.
template <int kRank>
struct HadamardParams {
  long row_blocks, blocks;
  long factor;
  long step;  // of a row's elements
  Axes<kRank> x;
};
