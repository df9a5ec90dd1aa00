// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of matmul().
template <int kRank>
struct MatmulParams {
  long batches, m, n, k;
  long a_row, a_col, b_row, b_col, c_row;
  Axes<kRank> a, b;  // of the batch
};

// Of matvec().
struct MatvecParams {
  long batches, rows, length;
  long row_step;
  long split;
  long w_step, x_step;  // of the batch
};

// Of matmul_skinny() and matmul_skinny_join().
struct MatmulSkinnyParams {
  long vectors, rows, length;
  long row_step, x_step, y_step;
  long parts;
};

// Of matmul_simdgroup().
template <int kRank>
struct SimdgroupMatmulParams {
  long batches, m, n, k;
  long a_row, a_col, b_row, b_col, c_row;
  long a_wide, b_wide;  // whether lines may be read 16 bytes at a time
  long length, panel;
  Axes<kRank> a, b;  // of the batch
};

// Of matmul_simdgroup_join().
struct MatmulJoinParams {
  long lines, n, c_row, shares;
};

// Of matmul_row_tiles() and matmul_row_lanes(): rows of x, outputs of w, and their steps.
template <int kRank>
struct RowProductParams {
  long batches, rows, outputs, length;
  long x_row, x_column, w_row, w_column;
  Axes<kRank> x, w;  // of the batch
};
