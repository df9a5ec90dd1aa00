// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// The classes of the gradient for x, and what they follow from.
struct ConvClasses {
  long count[3];
  long stride[3], dilation[3], padding[3];
  long kernel_extent[3], kernel_step[3];
  long kernel_move[3];  // elements of the kernel from one of a class to the next
  long result_extent[3], result_step[3];
};

// c = a b for each group, where b is gathered: see conv.metal. Arrays are of the spatial axes;
// steps are in elements.
struct ConvParams {
  long groups, shares, length;  // length: of k, of a share
  long m;
  long k_outer, k_extent[3];
  long n_outer, n_extent[3];
  long extent[3];                       // of what b is gathered from
  long first[3], k_move[3], n_move[3];  // its coordinate: first + k_move * row + n_move * column
  long a_base, a_group, a_m, a_outer, a_step[3];
  long b_base, b_group, b_k_outer, b_n_outer, b_step[3];
  long c_group, c_m, c_outer, c_step[3];
  long bias_base, bias_step;
  long count;      // of elements of c
  long b_along_k;  // neighbours along k are neighbours in memory
  ConvClasses classes;
};

// Of conv_join().
struct ConvJoinParams {
  long count, shares;
  long channels, inner;
  long bias_base, bias_step;
};
