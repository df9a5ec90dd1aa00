// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// ResampleRule (ops/image/axis_taps.h), but for what no kernel does.
enum {
  kResampleMean,
  kResampleSum,
  kResampleNearest,
  kResampleNearestExact,
  kResampleLinear,
  kResampleCubic
};

// A spatial axis as ops/pool/axis_window.h has it. `window` is the extent of one, 0 for bins.
struct PoolAxis {
  long extent, positions;
  long window, stride, padding, dilation;
  long results;  // of the axis: positions, or the extent where an adjoint is taken
  Divisor by_results, by_positions;
  long step, places_step, to_step;  // along the axis, of x, places and y
};

// Of all kernels of pools; the axes that x lacks are in front, of one element. Batch and channels
// are `outer` x `planes`; a thread makes elements of several planes.
struct PoolParams {
  long count;          // results, those that one thread makes as one
  long lane_bits;      // 2^lane_bits threads share a result
  long flag;           // Resampling::flag
  long least;          // what windows without elements give, of integers
  long planes_first;   // neighbouring threads are of neighbouring planes, not positions
  long packed_result;  // y is stored in packets
  long outer, planes, chunks;
  Divisor by_chunks;
  long base, places_base;
  long outer_step, plane_step;
  long places_outer_step, places_plane_step;
  long to_outer_step, to_plane_step;
  PoolAxis axis[3];
};
