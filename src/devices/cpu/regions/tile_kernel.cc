#include "devices/cpu/regions/tile_kernel.h"

#include <algorithm>

#include "devices/cpu/regions/tile_copy.h"
#include "devices/cpu/regions/tile_program.h"
#include "devices/cpu/regions/tile_reduce.h"
#include "devices/cpu/regions/tile_walk.h"
#include "runtime/device/worker_pool.h"
#include "runtime/memory/fresh_pages.h"

namespace hearth::cpu {
namespace {

// Below this much work a second thread costs more than it saves; below the next, only if it is
// awake.
constexpr double kInlineNanoseconds = 10000;
constexpr double kEagerNanoseconds = 60000;
constexpr double kChunkNanoseconds = 8000;
// Lines shorter than this are run together, whether inputs allow it or not: those that do not are
// collected. Outputs have to.
constexpr std::int64_t kShortLine = 96;

struct ElementwisePlan {
  bool empty = false;
  bool one_tile = false;
  TileProgram program;
  std::int64_t tiles_per_row = 1;
  std::int64_t tiles = 1;
  std::int64_t tiles_per_chunk = 1;
  double nanoseconds = 0;
};

struct RegionPlan {
  enum class Kind { elementwise, copy, reduction } kind = Kind::elementwise;
  ElementwisePlan elementwise;
  CopyPlan copy;
  RegionScalar filled_with{};  // where the copy fills
  ReducePlan reduction;
};

void plan_elementwise(const LoweredRegion& lowered, ElementwisePlan* plan) {
  const RegionLayout& space = lowered.layout;
  plan->empty = space.elements == 0;
  if (plan->empty) return;
  TileLayout layout;
  if (space.axes.size() > 1 && space.axes.back().extent < kShortLine) {
    std::int64_t together = 1;
    layout.inner_axes = 0;
    for (std::size_t i = space.axes.size(); i-- > 0 && together < kTileElements * 4;) {
      if (layout.inner_axes > 0 && !outputs_join(lowered, i)) break;
      together *= space.axes[i].extent;
      ++layout.inner_axes;
    }
  }
  plan->program = compile_tiles(lowered, layout, true);
  const TileProgram& program = plan->program;
  plan->tiles_per_row = (program.length + program.tile - 1) / program.tile;
  plan->tiles = plan->tiles_per_row * program.rows;
  plan->one_tile = plan->tiles == 1;
  const double each = program.cost * static_cast<double>(program.tile) +
                      3.0 * static_cast<double>(program.steps.size()) + 5;
  plan->nanoseconds = each * static_cast<double>(plan->tiles);
  plan->tiles_per_chunk =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kChunkNanoseconds / each));
}

void run_tiles(const ElementwisePlan& plan, TileWalk& walk, std::int64_t begin, std::int64_t end) {
  const TileProgram& program = plan.program;
  std::int64_t row = begin / plan.tiles_per_row;
  std::int64_t column = begin % plan.tiles_per_row * program.tile;
  walk.seek(row);
  for (std::int64_t tile = begin; tile < end; ++tile) {
    walk.to_column(column);
    walk.run(std::min(program.tile, program.length - column));
    column += program.tile;
    if (column >= program.length) {
      column = 0;
      walk.next_row();
    }
  }
}

void launch_elementwise(const ElementwisePlan& plan, const Launch& launch) {
  if (plan.empty) return;
  TileScalars scalars(plan.program, launch);
  if (plan.one_tile) {
    TileWalk walk(plan.program, launch, scalars);
    walk.run(plan.program.length);
    return;
  }
  WorkerPool* pool = plan.nanoseconds < kInlineNanoseconds ? nullptr : &WorkerPool::global();
  if (pool == nullptr || pool->threads() == 1) {
    TileWalk walk(plan.program, launch, scalars);
    run_tiles(plan, walk, 0, plan.tiles);
    return;
  }
  const std::int64_t chunks = (plan.tiles + plan.tiles_per_chunk - 1) / plan.tiles_per_chunk;
  pool->parallel_for(
      chunks,
      [&](std::int64_t chunk) {
        TileWalk walk(plan.program, launch, scalars);
        const std::int64_t begin = chunk * plan.tiles_per_chunk;
        run_tiles(plan, walk, begin, std::min(plan.tiles, begin + plan.tiles_per_chunk));
      },
      plan.nanoseconds < kEagerNanoseconds ? WorkerPool::Wake::if_frequent
                                           : WorkerPool::Wake::always);
}

bool fills_densely(const CopyPlan& plan) {
  return plan.outer.empty() && plan.inner.extent * plan.size == plan.bytes;
}

void launch_fill(const RegionPlan& plan, const Launch& launch) {
  const DType dtype = plan.filled_with.dtype;
  std::uint64_t value = 0, element = 0;
  convert_scalar(launch.dynamics[plan.filled_with.dynamic], dtype, false, &value);
  tile_table().store[static_cast<int>(dtype)](reinterpret_cast<std::byte*>(&element),
                                              reinterpret_cast<const std::byte*>(&value), 1, 1);
  if (element == 0 && fills_densely(plan.copy) &&
      zero_fresh_pages(launch.operands[0], plan.copy.bytes)) {
    return;
  }
  launch_copy(plan.copy, reinterpret_cast<const std::byte*>(&element), launch.operands[0]);
}

Prepared prepare(LoweredRegion lowered) {
  auto plan = std::make_shared<RegionPlan>();
  Prepared prepared;
  if (lowered.region.reduction.op != nullptr) {
    plan->kind = RegionPlan::Kind::reduction;
    prepared.workspace_bytes = plan_reduction(lowered, &plan->reduction);
  } else if (plan_copy(lowered, &plan->copy)) {
    plan->kind = RegionPlan::Kind::copy;
    if (plan->copy.fills) plan->filled_with = lowered.region.scalars[0];
  } else {
    plan_elementwise(lowered, &plan->elementwise);
  }
  prepared.state = std::move(plan);
  return prepared;
}

void launch(const Launch& launch) {
  const auto& plan = *static_cast<const RegionPlan*>(launch.state);
  switch (plan.kind) {
    case RegionPlan::Kind::elementwise:
      return launch_elementwise(plan.elementwise, launch);
    case RegionPlan::Kind::copy:
      if (plan.copy.fills) return launch_fill(plan, launch);
      return launch_copy(plan.copy, launch.operands[0], launch.operands[1]);
    case RegionPlan::Kind::reduction:
      return launch_reduction(plan.reduction, launch);
  }
}

}  // namespace

RegionImplementation cpu_regions() { return {.prepare = prepare, .launch = launch}; }

}  // namespace hearth::cpu
