// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// A spatial axis as ops/axis_window.h has it. `window` is the extent of one, 0 for bins.
struct PoolAxis {
  long extent, positions;
  long window, stride, padding, dilation;
  long results;  // of the axis: positions, or the extent where an adjoint is taken
  long step;     // of x along the axis
};

// Of max_pool(); the axes that x lacks are in front, of one element.
template <int kRank>
struct MaxPoolParams {
  long count;
  long least;  // what windows without elements give, of integers
  PoolAxis axis[3];
  Axes<kRank> planes;  // batch and channels of x
};

// Of resample().
template <int kRank>
struct ResampleParams {
  long count;
  long flag;
  PoolAxis axis[3];
  Axes<kRank> planes;
};
