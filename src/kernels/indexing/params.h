// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of slice_assign().
struct AssignStart {
  long word;             // of the dynamic block
  long lowest, highest;  // of the starts that keep the region inside
  long stride;           // of y
};
struct AssignAxis {
  Divisor extent;  // of both
  long x_stride, y_stride;
};
struct AssignRegion {
  long count;
  long x_base, y_base;
};
template <int kStarts, int kRank>
struct AssignParams {
  AssignRegion region;
  AssignStart start[kStarts];
  AssignAxis axis[kRank];
};

// Of gather().
template <int kRank>
struct GatherParams {
  long count;
  long axis_extent;
  long axis_stride;
  Axes<kRank> x, indices;
};

// Of select().
template <int kRank>
struct SelectParams {
  long count;
  long positions;
  long inner;
  long index_base;  // of the first index
  long index_stride;
  long axis_extent;
  long axis_stride;
  Axes<kRank> x;  // with an extent of 1 on the axis
};

// Of select_rows().
template <int kRank>
struct RowParams {
  long rows;  // outer x positions
  long positions;
  long vectors;  // of a row
  long lanes, lane_bits;
  long index_base;  // of the first index
  long index_stride;
  long axis_extent;
  long axis_stride;   // in vectors
  Axes<kRank> outer;  // in vectors
};

// Of assign_rows(): all in vectors.
template <int kRank>
struct AssignRowParams {
  long rows;
  long extent;   // of the output's axis
  long vectors;  // of a row
  long index_base, index_stride;
  long value_row, output_row;
  Axes<kRank> values, output;  // of a row
};

// The lines of a scatter along its axis: the constants of scatter_serial(), a part of others.
template <int kRank>
struct ScatterLines {
  long count;
  long length;                               // of a line of indices and values
  long extent;                               // of the output's axis
  long index_step, value_step, output_step;  // along the axis
  Axes<kRank> indices, values, output;       // with an extent of 1 on the axis
};

// Of convert().
struct ConvertParams {
  long count;
};

// Of scatter_atomics().
template <int kRank>
struct AtomicParams {
  long count;
  long extent;                          // of the output's axis
  long output_step;                     // along it
  Axes<kRank> indices, values, output;  // output: with a stride of 0 on the axis
};

// Of scatter_privatized().
template <int kRank>
struct ShareParams {
  long share;  // destinations of a simdgroup, at most kMaxPlaces
  ScatterLines<kRank> lines;
};

// Of bin_count(), bin_entries() and bin_sums().
template <int kRank>
struct BinParams {
  long bins;      // of a bundle, at most kMaxBins
  Divisor share;  // destinations of a bin, for each line; share * kLines is at most kMaxPlaces
  long tiles;     // of a bundle
  long rounds;    // 32 elements of each simdgroup a round; a multiple of kBinAhead
  ScatterLines<kRank> lines;
};

// Of bin_places().
struct BinPlaceParams {
  long count;  // bins of all bundles
  long bins, tiles;
};

// Of selection_keys().
struct SelectionParams {
  long count;
  long stride;  // of the list of indices, from its first element on
  long base;
  long destinations;
};

// Of element_keys().
template <int kRank>
struct ElementParams {
  long count;         // elements of all lines
  long destinations;  // elements of the output
  ScatterLines<kRank> lines;
};

// Of segmented_sum() and scatter_pieces().
struct SumParams {
  long threads;       // outer x blocks x vectors
  long count;         // keys
  long blocks;        // of kBlock keys
  long vectors;       // of a row
  long destinations;  // keys from there on are dropped
  long value_outer;   // elements from one outer position to the next
  long output_outer;
};
