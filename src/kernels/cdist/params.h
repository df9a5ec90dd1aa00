// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// A threadgroup's threads, the extent of its tile, and what columns of slices step by.
enum { kCdistThreads = 256, kCdistTile = 64, kCdistPitch = 68 };
// Columns of a slice, of f64 and of others.
enum { kCdistWideSlice = 16, kCdistSlice = 32 };
// What is summed.
enum { kCdistSquares, kCdistMagnitudes, kCdistPowers, kCdistLargest };

// Of cdist(); the axes are those of the batch.
template <int kRank>
struct CdistParams {
  long rows, columns, length;             // of the result, and of what is summed
  long tiles_down, tiles_across;          // of a result of the batch
  long power;                             // the bits of p, f32 or f64
  long a_row, a_column, b_row, b_column;  // strides
  Axes<kRank> a;
  Axes<kRank> b;
};
