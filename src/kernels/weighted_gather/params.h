// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

enum { kTapsAtOnce = 4 };

// Of weighted_gather(): extents, then where operands begin and how far their axes step.
struct WeightedGatherParams {
  long layers, chunks, channels, extent, taps, points;  // layers: batch * chunks of channels
  long x_base, x_batch, x_channel, x_step;
  long index_base, index_batch, index_tap, index_step;
  long weight_base, weight_batch, weight_tap, weight_step;
};
