// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

struct RandomParams {
  long count;
  long dynamic;  // word of the seed in the dynamic block; the others follow
};
