// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// What a thread makes of floats of up to 32 bits: blocks of four words.
enum { kThreadBlocks = 4, kBlockWords = 4 };

struct RandomParams {
  long count;
  long dynamic;  // word of the seed in the dynamic block; the others follow
};

// Of dropout().
template <int kRank>
struct DropoutParams {
  long count;
  long dynamic;
  Axes<kRank> x;
};
