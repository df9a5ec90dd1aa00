// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of softmax_rows(), softmax_long_rows() and logsumexp_rows().
template <int kRank>
struct SoftmaxParams {
  RowSplitParams split;
  Axes<kRank> x;
};

// Of softmax_backward_rows().
template <int kRank>
struct SoftmaxBackwardParams {
  RowSplitParams split;
  Axes<kRank> g, y;
};

// Of softmax_columns() and softmax_backward_columns().
template <int kRank>
struct ColumnParams {
  long columns;  // outer * inner
  long length, inner;
  long x_step, g_step;  // along the axis
  Axes<kRank> x, g;     // with an extent of 1 on the axis
};

// Of causal_softmax().
template <int kRank>
struct CausalSoftmaxParams {
  RowSplitParams split;
  long rows;    // of each matrix
  long causal;  // else rows see all keys
  long scale;   // the bits of an f64
  Axes<kRank> x;
};

// Of cross_entropy_rows() and cross_entropy_backward_rows().
template <int kRank>
struct CrossEntropyParams {
  RowSplitParams split;
  long ignored;
  long target_base, target_step;
  long grad_base, grad_step;
  long loss_base, loss_step;
  long dx_step;
  Axes<kRank> x;
};
