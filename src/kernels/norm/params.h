// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of norm_rows().
template <int kRank>
struct NormParams {
  RowSplitParams split;
  long epsilon;
  long divisor;  // of the sum of squares: the length of a row, or 1
  Axes<kRank> x;
};

// Of norm_backward_rows(), norm_backward_long_rows() and norm_backward_columns().
template <int kRank>
struct NormBackwardParams {
  RowSplitParams split;
  long epsilon;
  long chunk;  // rows of a threadgroup, divided by those that it takes at a time
  Axes<kRank> g, x;
};

// Of norm_combine() and norm_combine_both().
struct NormCombineParams {
  long columns, parts;  // of the partial sums
  long first, count;    // the columns that are added
};
