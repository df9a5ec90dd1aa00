// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

struct SortParams {
  long count;
  long shift;   // of this pass's digit
  long rounds;  // 32 keys of each simdgroup a round
  long tiles;
};

// How elements become keys: see key_of().
struct KeyOrder {
  long form;      // of SortForm
  long infinity;  // the bits of the largest float
  long flip;      // of the key
};
enum SortForm { kSortIntegers, kSortFloats, kSortBools };

// Lines along an axis, some of all that there are.
template <int kRank>
struct LineParams {
  KeyOrder order;
  long count;       // of lines
  long first;       // the first of them, of all
  long length;      // of a line
  long inner;       // elements of a result from one of a line to the next
  long step;        // of x, the same
  long width_bits;  // of sort_block(): a line takes 2^width_bits places
  long shift;       // of radix keys: from this bit on
  Axes<kRank> x;    // with an extent of 1 on the axis
};

// The least keys of parts of lines, in the order of their threads' groups.
struct LeastParams {
  KeyOrder order;
  long length;  // of a line
  long parts;   // of a line
  long part;    // elements of one
  long k;       // how many of each part are wanted
  long shared;  // threads that have one least key together, a power of two
};
template <int kRank>
struct RowLeastParams {
  LeastParams least;
  Axes<kRank> x;  // rows: with an extent of 1 on the last axis
};
template <int kRank>
struct RowPickParams {
  long count;  // of results
  long k;      // of a row
  Axes<kRank> x;
};

// Of searchsorted(): values of a thread.
enum { kSearchesAtOnce = 4 };

// Values, each searched for in its row: both have the axes of the values.
template <int kRank>
struct SearchParams {
  KeyOrder order;
  long count;          // of values
  long length;         // of a row
  long step;           // of `sorted`, along a row
  Axes<kRank> sorted;  // of the first of a row
  Axes<kRank> values;
};
