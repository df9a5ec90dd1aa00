// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

template <int kRank>
struct RopeParams {
  long outer, sequence, pairs;
  long packets;  // of pairs of a row
  long inverse;
  long dynamic;        // the word of the offset
  long turn;           // 1 / 2 pi
  long power[16];      // base^(-2^k / pairs)
  long sequence_step;  // of x
  Axes<kRank> x;       // of the outer axes
};
