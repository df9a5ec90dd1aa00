// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// The elements of a matrix that count; the others are 0.
enum { kWholeMatrix, kLowerTriangle, kUpperTriangle, kBelowDiagonal, kAboveDiagonal };
enum { kMatrixThreads = 256 };

// Of load_matrices(); the axes are those of the batch.
template <int kRank>
struct LoadMatrixParams {
  long rows, cols, row_stride, col_stride;
  long batch_stride;  // elements from one matrix of the copies to the next
  long groups;        // threadgroups of a matrix
  Axes<kRank> x;
};

// Of a matrix; `words` say whether it has an element that is not finite.
struct MatrixParams {
  long rows, cols;
  long height, batch_stride;  // of the library's: from a column, and a matrix, to the next
  long groups, words;
};

// Of take_vectors(): `count` vectors of a matrix, each of `length`, and as many of `other_length`.
struct VectorParams {
  long count, length, other_length;
  long step, vector_step;              // in the results of the first
  long other_step, other_vector_step;  // and of the others
  long groups, words;
};
