// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

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
