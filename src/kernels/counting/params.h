// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

enum { kPlacesEach = 16 };  // elements of a thread of nonzero_static, one after the other

// Counts of the numbers below `length`.
struct CountParams {
  long count;   // of elements
  long length;  // of the result
  long parts;   // that are counted apart
};

// Places of elements that are true.
struct PlacesParams {
  long size;   // of the row
  long tiles;  // of it
  long count;  // of places
};
