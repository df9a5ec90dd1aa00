// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

enum { kDequantizedAtOnce = 8 };
// Elements that share a scale of their codes, and whose products with weights a lane adds up.
enum { kUnit = 32 };
// Units of a weight row that a simdgroup stages at a time: many unless they take more bytes than
// this, which lanes hold in registers.
enum { kStagedBytes = 2560, kManyUnits = 128, kFewUnits = 64 };

// Of dequantize_blocks(): parts of a line that simdgroups stage at a time, and such parts of all
// lines; units of a line; where the memory that may be read ends. The axes are those of lines, in
// bytes.
template <int kRank>
struct DequantizeParams {
  long line_parts, parts, units, end;
  Axes<kRank> lines;
};

// Of code_rows(): x [rows, units * kUnit], with the axes of rows.
template <int kRank>
struct CodeRowsParams {
  long rows, units;
  Axes<kRank> x;
};

// Of packed_matvec(): rows of x, rows of the weight; where those begin, their stride, and where
// the last one ends, in bytes. The axes are those of x's rows.
template <int kRank>
struct PackedMatvecParams {
  long rows, outputs, units;
  long base, stride, end;
  Axes<kRank> x;
};

// Weight rows of a tile, units of these that a simdgroup multiplies at a time, columns of a
// product.
enum { kTileRows = 16, kTileUnits = 8, kTileColumns = 8 };

// Of packed_tiles(): as above.
struct PackedTileParams {
  long rows, outputs, units;
  long base, stride, end;
};

// Of quantize_blocks(): blocks of a row and in all, and where rows of x lie.
template <int kRank>
struct QuantizeParams {
  long row_blocks, blocks;
  long step;  // of a row's elements
  Axes<kRank> x;
};

// Of turbo_quantize() and turbo_dequantize(): rows, their elements, and bytes of their codes; the
// axes are those of the rows that are read.
template <int kRank>
struct TurboParams {
  long rows, length, bytes;
  long step;  // of a row's elements
  Axes<kRank> x;
};
