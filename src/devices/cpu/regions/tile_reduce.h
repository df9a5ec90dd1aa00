// Regions that end in a reduction.
#pragma once

#include <cstdint>

#include "devices/cpu/regions/tile_program.h"
#include "graph/implementation.h"

namespace hearth::cpu {

// Three ways to combine the values of a tile program, by what the innermost axis is.
//   rows      it is reduced and long: each line is folded into kFoldLanes partial results
//   segments  it is reduced and short: a line holds many short runs, each gives one result
//   columns   it is kept: lines are added up element by element
// The reduced range of every result is cut into chunks by shape alone, and partial results are
// combined in order, so that the result does not depend on the number of threads.
struct ReducePlan {
  enum class Way { empty, rows, segments, columns } way = Way::empty;
  TileProgram program;
  Combine combine = Combine::sum;
  DType dtype = DType::f32;
  ComputeClass type = ComputeClass::f32;  // that is accumulated in
  std::uint64_t identity = 0;             // in the class
  int result = 0;                         // operand
  int brains = -1;  // operand of bf16 that is combined as it lies in memory, without steps
  std::vector<std::int64_t> kept;  // extents of the kept axes, in the order of partial results
  std::vector<std::int64_t> kept_strides;  // bytes, of the result
  std::int64_t results = 1;
  std::int64_t kept_rows = 1;  // rows that differ in their result
  std::int64_t reduced_rows = 1;
  std::int64_t chunks = 1;  // of the reduced range
  std::int64_t chunk = 1;   // rows: tiles; columns: rows or tiles
  std::int64_t strip = 0;   // columns: width handled at a time
  std::int64_t strips = 1;
  std::int64_t segment = 0;  // segments: length of a run; columns: results in a short line
  std::int64_t group = 1;    // kept rows for one task
  double nanoseconds = 0;
};

// Returns the bytes of workspace.
std::int64_t plan_reduction(const LoweredRegion& lowered, ReducePlan* plan);
void launch_reduction(const ReducePlan& plan, const Launch& launch);

}  // namespace hearth::cpu
