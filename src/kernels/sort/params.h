// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

struct SortParams {
  long count;
  long shift;   // of this pass's digit
  long rounds;  // 32 keys of each simdgroup a round
  long tiles;
};
