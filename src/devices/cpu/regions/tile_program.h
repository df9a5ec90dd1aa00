// A region compiled for the CPU: how to walk its index space, and what to do with each tile.
//
// The index space is cut into lines, and lines into tiles of up to kTileElements. A slot is a
// pointer that steps use: first the operands of the launch, then the single values, then the tiles.
// Before the steps run on a tile, operand slots are moved to where the tile begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "devices/cpu/regions/tile_table.h"
#include "graph/implementation.h"
#include "graph/lower/lowered_region.h"
#include "hearth/shape.h"

namespace hearth::cpu {

struct TileOperand {
  DType dtype;
  std::int64_t size;                     // bytes of one element
  std::int64_t offset;                   // bytes
  std::int64_t outer_strides[kMaxRank];  // bytes, of the outer axes
  std::int64_t line_stride;              // elements; meaningless where the line is uneven
  bool uneven;                           // a line has no one stride
  std::int64_t inner_strides[kMaxRank];  // elements, of the axes within a line
};

// A single value that memory holds in another form than steps read: converted once for each row.
struct TileSingle {
  int operand;
  int slot;
  LoadFunction load;
};
// An operand without one stride along the line, collected into a tile before the steps.
struct TileGather {
  int operand;
  int slot;
  LoadFunction load;
};

struct TileProgram {
  // The walk. Outer axes may be in any order; axes [first_reduced, outer.size()) are reduced ones.
  std::vector<std::int64_t> outer;
  int first_reduced = 0;
  std::vector<std::int64_t> inner;  // the axes that make a line
  std::int64_t rows = 1;            // product of outer
  std::int64_t length = 1;          // product of inner
  std::int64_t tile = kTileElements;
  std::vector<TileOperand> operands;

  // The work.
  std::vector<TileStep> steps;
  std::vector<TileGather> gathers;
  std::vector<TileSingle> singles;
  int first_single = 0;  // slots of dynamic scalars, then of `singles`
  int first_tile = 0;
  int slots = 0;
  std::int64_t tile_bytes = 0;  // between tiles
  std::int64_t scratch_bytes = 0;
  int result_slot = -1;  // of the value to reduce
  double cost = 0;       // nanoseconds an element, about

  std::vector<RegionScalar> scalars;
  std::vector<ComputeClass> scalar_classes;
  bool exact = false;
};

// How lines are made of a space: the last `inner_axes` axes form the line, the others are outer
// axes, kept ones before reduced ones.
struct TileLayout {
  int inner_axes = 1;
  std::int64_t tile = kTileElements;  // at most
};

// Whether every output takes the same steps over axes `axis` and `axis` + 1 as over one: a line
// holds both only then.
bool outputs_join(const LoweredRegion& lowered, std::size_t axis);

// Compiles the region's instructions for a walk over its axes. With `careful`, no output is written
// before the last input was read, so that outputs may share memory with any input of the same
// layout. `reduced` is the dtype that the reduced value must have, if there is a reduction.
TileProgram compile_tiles(const LoweredRegion& lowered, const TileLayout& layout, bool careful,
                          DType reduced = DType::f32);

}  // namespace hearth::cpu
