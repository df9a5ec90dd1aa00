// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of kernels over rows.
template <int kRank>
struct ScanRowParams {
  RowSplitParams split;
  long chunks, chunk_tiles;  // of a row that is cut; tiles are what threads hold at a time
  Axes<kRank> x, second;
};

// Of kernels over columns.
template <int kRank>
struct ScanColumnParams {
  long columns;  // outer * inner
  long length, inner;
  long sharing;              // simdgroups of a column
  long x_step, second_step;  // along the axis
  Axes<kRank> x, second;     // with an extent of 1 on the axis
};
