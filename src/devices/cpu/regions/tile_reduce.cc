#include "devices/cpu/regions/tile_reduce.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>

#include "core/thread_owned.h"
#include "devices/cpu/regions/tile_walk.h"
#include "graph/op_def.h"
#include "hearth/error.h"
#include "runtime/device/worker_pool.h"

namespace hearth::cpu {
namespace {

// Elements that one chunk of a reduced range holds.
constexpr std::int64_t kChunkElements = 64 << 10;
// Values added up one after the other before the sum goes one level up.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kDirectTile = 4096;
constexpr std::int64_t kShortRun = 96;
constexpr std::int64_t kStripWidth = 2048;
constexpr double kInlineNanoseconds = 10000;
constexpr double kTaskNanoseconds = 8000;

// The value that changes nothing, in the class `type`. Of max and min: the dtype's own extreme, so
// that an empty reduction gives a value of the dtype.
std::uint64_t identity_of(Combine combine, DType dtype, ComputeClass type) {
  const bool extreme = combine == Combine::max || combine == Combine::min;
  if (is_float(dtype)) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const double value =
        extreme ? (combine == Combine::max ? -kInf : kInf) : (combine == Combine::prod ? 1 : 0);
    return type == ComputeClass::f64 ? std::bit_cast<std::uint64_t>(value)
                                     : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  if (extreme) return combine == Combine::max ? least_of(dtype) : greatest_of(dtype);
  return combine == Combine::prod ? 1 : 0;
}

void fill_values(std::byte* to, std::int64_t n, const ReducePlan& plan) {
  if (size_of(plan.type) == 4) {
    std::uint32_t value;
    std::memcpy(&value, &plan.identity, 4);
    auto* words = reinterpret_cast<std::uint32_t*>(to);
    for (std::int64_t i = 0; i < n; ++i) words[i] = value;
  } else {
    auto* words = reinterpret_cast<std::uint64_t*>(to);
    for (std::int64_t i = 0; i < n; ++i) words[i] = plan.identity;
  }
}

const FoldFunctions& fold_of(const ReducePlan& plan) {
  return tile_table().fold[static_cast<int>(plan.combine)][static_cast<int>(plan.type)];
}
// Of values as they come from walk_values().
const FoldFunctions& value_fold_of(const ReducePlan& plan) {
  return plan.brains < 0 ? fold_of(plan) : tile_table().fold_bf16[static_cast<int>(plan.combine)];
}
// The next n values to combine.
const std::byte* walk_values(const ReducePlan& plan, TileWalk& walk, std::int64_t n) {
  if (plan.brains >= 0) return walk.memory(plan.brains);
  walk.run(n);
  return walk.result();
}
StoreFunction store_of(const ReducePlan& plan) {
  return tile_table().store[static_cast<int>(plan.dtype)];
}

// Stores values of the class that is accumulated in; a precise sum of f32 is rounded from f64 here.
void store_values(const ReducePlan& plan, std::byte* to, const std::byte* values, std::int64_t n,
                  std::int64_t stride) {
  if (plan.type == compute_class(plan.dtype)) return store_of(plan)(to, values, n, stride);
  const auto* wide = reinterpret_cast<const double*>(values);
  float rounded[256];
  for (std::int64_t first = 0; first < n; first += std::ssize(rounded)) {
    const std::int64_t count = std::min<std::int64_t>(n - first, std::ssize(rounded));
    for (std::int64_t i = 0; i < count; ++i) rounded[i] = static_cast<float>(wide[first + i]);
    store_of(plan)(to + first * stride * size_of(plan.dtype),
                   reinterpret_cast<const std::byte*>(rounded), count, stride);
  }
}

// Where result `index` (in the order of the kept axes) is stored.
std::byte* result_at(const ReducePlan& plan, std::byte* base, std::int64_t index) {
  for (std::size_t axis = plan.kept.size(); axis-- > 0;) {
    base += index % plan.kept[axis] * plan.kept_strides[axis];
    index /= plan.kept[axis];
  }
  return base;
}

// Stores results [first, first + n), converting. Runs along the last kept axis are stored together.
void store_results(const ReducePlan& plan, const std::byte* values, std::int64_t first,
                   std::int64_t n, std::byte* base) {
  const std::int64_t size = size_of(plan.type);
  if (plan.kept.empty()) return store_values(plan, base, values, n, 1);
  const std::int64_t extent = plan.kept.back();
  const std::int64_t stride = plan.kept_strides.back() / size_of(plan.dtype);
  while (n > 0) {
    const std::int64_t run = std::min(n, extent - first % extent);
    store_values(plan, result_at(plan, base, first), values, run, stride);
    values += run * size;
    first += run;
    n -= run;
  }
}

template <class Body>
void for_tasks(const ReducePlan& plan, std::int64_t tasks, std::int64_t grain, const Body& body) {
  if (plan.nanoseconds < kInlineNanoseconds || tasks <= grain) {
    body(0, tasks);
    return;
  }
  WorkerPool::global().parallel_for_range(tasks, grain, body);
}

// Partial results, one row of all results for each chunk, combined in order.
void combine_chunks(const ReducePlan& plan, std::byte* partial, std::byte* base) {
  const std::int64_t size = size_of(plan.type);
  fold_of(plan).columns(partial, partial + plan.results * size, plan.results, plan.chunks - 1,
                        plan.results);
  store_results(plan, partial, 0, plan.results, base);
}

// Of a task; threads may have small stacks.
struct ReduceScratch {
  alignas(64) std::byte first[std::max(kStripWidth, kDirectTile) * 8];
  alignas(64) std::byte second[kStripWidth * 8];
};

struct Lanes {
  alignas(64) std::byte bytes[kFoldLanes * 8];
};

void reduce_rows(const ReducePlan& plan, const Launch& launch, TileScalars& scalars) {
  const TileProgram& program = plan.program;
  const FoldFunctions &fold = fold_of(plan), &value_fold = value_fold_of(plan);
  const std::int64_t size = size_of(plan.type);
  const std::int64_t tiles_per_line = (program.length + program.tile - 1) / program.tile;
  const std::int64_t tiles = tiles_per_line * plan.reduced_rows;
  std::byte* base =
      launch.operands[plan.result] + program.operands[static_cast<std::size_t>(plan.result)].offset;
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    TileWalk walk(program, launch, scalars);
    Lanes identity;
    fill_values(identity.bytes, kFoldLanes, plan);
    const auto bytes = static_cast<std::size_t>(kFoldLanes * size);
    std::int64_t result = begin / plan.chunks, chunk = begin % plan.chunks;
    for (std::int64_t task = begin; task < end; ++task, ++chunk) {
      if (chunk == plan.chunks) {
        chunk = 0;
        ++result;
      }
      const std::int64_t first = chunk * plan.chunk;
      const std::int64_t last = std::min(tiles, first + plan.chunk);
      Lanes lanes;
      Lanes block;
      std::memcpy(lanes.bytes, identity.bytes, bytes);
      bool blocked = false;
      std::int64_t since = 0;
      std::int64_t column = 0;
      if (task == begin || plan.chunks > 1) {
        walk.seek(result * plan.reduced_rows + first / tiles_per_line);
        column = first % tiles_per_line * program.tile;
      } else {
        walk.next_row();
      }
      for (std::int64_t tile = first; tile < last; ++tile) {
        walk.to_column(column);
        const std::int64_t n = std::min(program.tile, program.length - column);
        value_fold.row(lanes.bytes, walk_values(plan, walk, n), n);
        since += n;
        if (since >= kBlock * kFoldLanes) {
          if (!blocked) std::memcpy(block.bytes, identity.bytes, bytes);
          fold.columns(block.bytes, lanes.bytes, kFoldLanes, 1, 0);
          std::memcpy(lanes.bytes, identity.bytes, bytes);
          blocked = true;
          since = 0;
        }
        column += program.tile;
        if (column >= program.length) {
          column = 0;
          if (tile + 1 < last) walk.next_row();
        }
      }
      if (blocked) fold.columns(lanes.bytes, block.bytes, kFoldLanes, 1, 0);
      fold.lanes(lanes.bytes);
      if (plan.chunks == 1) {
        store_values(plan, result_at(plan, base, result), lanes.bytes, 1, 1);
      } else {
        std::memcpy(launch.workspace + (chunk * plan.results + result) * size, lanes.bytes,
                    static_cast<std::size_t>(size));
      }
    }
  };
  for_tasks(plan, plan.results * plan.chunks, plan.group, body);
  if (plan.chunks > 1) combine_chunks(plan, launch.workspace, base);
}

void reduce_segments(const ReducePlan& plan, const Launch& launch, TileScalars& scalars) {
  const TileProgram& program = plan.program;
  const FoldFunctions& fold = fold_of(plan);
  const std::int64_t tiles_per_line = (program.length + program.tile - 1) / program.tile;
  const std::int64_t runs_per_line = program.length / plan.segment;
  const std::int64_t runs_per_tile = program.tile / plan.segment;
  std::byte* base =
      launch.operands[plan.result] + program.operands[static_cast<std::size_t>(plan.result)].offset;
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    TileWalk walk(program, launch, scalars);
    std::byte* const results = ThreadOwned<ReduceScratch>::get().first;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t row = task / tiles_per_line;
      const std::int64_t tile = task % tiles_per_line;
      if (task == begin || tile == 0) walk.seek(row);
      const std::int64_t column = tile * program.tile;
      walk.to_column(column);
      const std::int64_t n = std::min(program.tile, program.length - column);
      walk.run(n);
      fold.segments(results, walk.result(), plan.segment, n / plan.segment);
      store_results(plan, results, row * runs_per_line + tile * runs_per_tile, n / plan.segment,
                    base);
    }
  };
  for_tasks(plan, program.rows * tiles_per_line, plan.group, body);
}

void reduce_columns(const ReducePlan& plan, const Launch& launch, TileScalars& scalars) {
  const TileProgram& program = plan.program;
  const FoldFunctions &fold = fold_of(plan), &value_fold = value_fold_of(plan);
  const std::int64_t size = size_of(plan.type);
  const bool grouped = plan.segment > 0;  // a line holds many rows of `segment` results
  const std::int64_t width = grouped ? plan.segment : program.length;
  const std::int64_t tiles_per_line =
      grouped ? (program.length + program.tile - 1) / program.tile : 1;
  const std::int64_t steps = plan.reduced_rows * tiles_per_line;
  const TileOperand& source = program.operands[0];
  const bool direct = (program.steps.empty() || plan.brains >= 0) && program.gathers.empty() &&
                      !grouped &&
                      static_cast<int>(program.outer.size()) - program.first_reduced == 1;
  const std::int64_t direct_step = direct ? source.outer_strides[program.first_reduced] : 0;
  const std::int64_t direct_stride = direct_step / source.size;
  std::byte* base =
      launch.operands[plan.result] + program.operands[static_cast<std::size_t>(plan.result)].offset;

  const auto body = [&](std::int64_t begin, std::int64_t end) {
    TileWalk walk(program, launch, scalars);
    auto& [sums, block] = ThreadOwned<ReduceScratch>::get();
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t chunk = task % plan.chunks;
      const std::int64_t strip = task / plan.chunks % plan.strips;
      const std::int64_t kept_row = task / plan.chunks / plan.strips;
      const std::int64_t first = chunk * plan.chunk;
      const std::int64_t last = std::min(steps, first + plan.chunk);
      const std::int64_t left = strip * plan.strip;
      const std::int64_t w = grouped ? program.tile : std::min(plan.strip, width - left);
      fill_values(sums, w, plan);
      bool blocked = false;
      const auto move_up = [&] {
        if (!blocked) fill_values(block, w, plan);
        fold.columns(block, sums, w, 1, 0);
        fill_values(sums, w, plan);
        blocked = true;
      };
      if (direct) {
        walk.seek(kept_row * plan.reduced_rows + first);
        walk.to_column(left);
        const std::byte* values = plan.brains < 0 ? walk.result() : walk.memory(plan.brains);
        for (std::int64_t step = first; step < last; step += kBlock) {
          const std::int64_t rows = std::min(kBlock, last - step);
          value_fold.columns(sums, values, w, rows, direct_stride);
          values += rows * direct_step;
          if (step + rows < last) move_up();
        }
      } else {
        walk.seek(kept_row * plan.reduced_rows + first / tiles_per_line);
        std::int64_t tile = first % tiles_per_line;
        for (std::int64_t step = first; step < last; ++step) {
          if (grouped) {
            const std::int64_t column = tile * program.tile;
            const std::int64_t n = std::min(program.tile, program.length - column);
            walk.to_column(column);
            walk.run(n);
            fold.columns(sums, walk.result(), n, 1, 0);
          } else {
            for (std::int64_t at = 0; at < w; at += program.tile) {
              const std::int64_t n = std::min(program.tile, w - at);
              walk.to_column(left + at);
              value_fold.columns(sums + at * size, walk_values(plan, walk, n), n, 1, 0);
            }
          }
          if ((step - first) % kBlock == kBlock - 1 && step + 1 < last) move_up();
          if (++tile == tiles_per_line) {
            tile = 0;
            if (step + 1 < last) walk.next_row();
          }
        }
      }
      if (blocked) fold.columns(sums, block, w, 1, 0);
      std::int64_t results = w;
      if (grouped) {
        fold.columns(sums, sums + width * size, width, program.tile / width - 1, width);
        results = width;
      }
      const std::int64_t first_result = kept_row * width + left;
      if (plan.chunks == 1) {
        store_results(plan, sums, first_result, results, base);
      } else {
        std::memcpy(launch.workspace + (chunk * plan.results + first_result) * size, sums,
                    static_cast<std::size_t>(results * size));
      }
    }
  };
  for_tasks(plan, plan.kept_rows * plan.strips * plan.chunks, plan.group, body);
  if (plan.chunks > 1) combine_chunks(plan, launch.workspace, base);
}

// Where results lie: one for each place along the kept axes.
void plan_results(const LoweredRegion& lowered, ReducePlan* plan) {
  const Region& region = lowered.region;
  const RegionLayout& space = lowered.layout;
  plan->result = static_cast<int>(region.inputs.size() + region.outputs.size());
  plan->results = space.results;
  for (const RegionAxis& axis : space.axes) {
    if (axis.reduced) continue;
    plan->kept.push_back(axis.extent);
    plan->kept_strides.push_back(axis.strides.back() * size_of(plan->dtype));
  }
}

// By what the innermost axes are: the way, and how tiles lie. `widens`: values become f64.
TileLayout plan_way(const LoweredRegion& lowered, bool widens, ReducePlan* plan) {
  const Region& region = lowered.region;
  const RegionLayout& space = lowered.layout;
  const std::size_t rank = space.axes.size();
  const RegionAxis* last = rank > 0 ? &space.axes[rank - 1] : nullptr;
  const RegionAxis* above = rank > 1 ? &space.axes[rank - 2] : nullptr;
  TileLayout layout;
  layout.inner_axes = rank > 0 ? 1 : 0;
  plan->way = ReducePlan::Way::rows;
  if (last != nullptr && !last->reduced) plan->way = ReducePlan::Way::columns;
  if (last != nullptr && above != nullptr && last->extent < kShortRun &&
      above->reduced != last->reduced && outputs_join(lowered, rank - 2)) {
    int reduced_axes = 0;
    for (const RegionAxis& axis : space.axes) reduced_axes += axis.reduced ? 1 : 0;
    if (!last->reduced) {
      plan->segment = last->extent;
      layout.inner_axes = 2;
    } else if (reduced_axes == 1) {
      plan->way = ReducePlan::Way::segments;
      plan->segment = last->extent;
      layout.inner_axes = 2;
    }
  }
  // Without steps the values are read where they lie, in long runs.
  const int value = region.reduction.value;
  const bool unchanged = !widens && region.instructions.empty() && region.outputs.empty() &&
                         value < region.first_scalar() && last != nullptr &&
                         last->strides[static_cast<std::size_t>(value)] == 1;
  if (unchanged && region.value_dtype(value) == DType::bf16 && plan->type == ComputeClass::f32 &&
      plan->segment == 0) {
    plan->brains = value;
  }
  const bool plain = unchanged && (plan->brains >= 0 || is_native(region.value_dtype(value)));
  layout.tile = plain ? kDirectTile : kTileElements;
  if (plan->segment > 0) {
    if (plan->way == ReducePlan::Way::columns) layout.tile = kTileElements;
    layout.tile = layout.tile / plan->segment * plan->segment;
  }
  return layout;
}

// How the rows of the program are shared out.
void plan_tasks(const RegionLayout& space, ReducePlan* plan) {
  const TileProgram& program = plan->program;
  const std::int64_t reduced = space.reduced_elements();
  plan->kept_rows = 1;
  plan->reduced_rows = 1;
  for (std::size_t i = 0; i < program.outer.size(); ++i) {
    (static_cast<int>(i) < program.first_reduced ? plan->kept_rows : plan->reduced_rows) *=
        program.outer[i];
  }
  const double each =
      program.cost + 0.03 * static_cast<double>(size_of(plan->type)) / 4 +
      3.0 * static_cast<double>(program.steps.size() + 4) / static_cast<double>(program.tile);
  plan->nanoseconds =
      each * static_cast<double>(space.elements) + 30.0 * static_cast<double>(plan->kept_rows);
  const auto group_for = [&](double task) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(kTaskNanoseconds / task));
  };

  switch (plan->way) {
    case ReducePlan::Way::rows: {
      const std::int64_t tiles =
          (program.length + program.tile - 1) / program.tile * plan->reduced_rows;
      plan->chunks = std::max<std::int64_t>(1, (reduced + kChunkElements - 1) / kChunkElements);
      plan->chunk = (tiles + plan->chunks - 1) / plan->chunks;
      plan->chunks = (tiles + plan->chunk - 1) / plan->chunk;
      plan->group =
          group_for(each * static_cast<double>(reduced) / static_cast<double>(plan->chunks) + 30);
      break;
    }
    case ReducePlan::Way::segments:
      plan->group = group_for(each * static_cast<double>(program.tile) + 30);
      break;
    case ReducePlan::Way::columns: {
      const bool grouped = plan->segment > 0;
      const std::int64_t width = grouped ? program.tile : std::min(program.length, kStripWidth);
      plan->strip = grouped ? plan->segment : width;
      plan->strips = grouped ? 1 : (program.length + width - 1) / width;
      const std::int64_t steps =
          grouped ? (program.length + program.tile - 1) / program.tile * plan->reduced_rows
                  : plan->reduced_rows;
      // A chunk is long enough that its partial results are a small part of what it reads.
      const std::int64_t wanted = std::max(kBlock, kChunkElements / width);
      plan->chunks = std::max<std::int64_t>(1, steps / wanted);
      plan->chunk = (steps + plan->chunks - 1) / plan->chunks;
      plan->chunks = (steps + plan->chunk - 1) / plan->chunk;
      plan->group = group_for(each * static_cast<double>(plan->chunk * width) + 30);
      break;
    }
    case ReducePlan::Way::empty:
      break;
  }
}

}  // namespace

std::int64_t plan_reduction(const LoweredRegion& lowered, ReducePlan* plan) {
  const Region& region = lowered.region;
  const RegionLayout& space = lowered.layout;
  plan->combine = region.reduction.op->combine;
  plan->dtype = region.reduction.dtype;
  if (plan->combine == Combine::none || region.reduction.op->finds_index) {
    throw Error(ErrorCode::unsupported,
                std::string(region.reduction.op->name.text) + ": no such reduction on the CPU");
  }
  const bool widens =
      region.reduction.precise && plan->combine == Combine::sum && plan->dtype == DType::f32;
  const DType accumulated = widens ? DType::f64 : plan->dtype;
  plan->type = compute_class(accumulated);
  plan->identity = identity_of(plan->combine, plan->dtype, plan->type);
  plan_results(lowered, plan);
  if (space.elements == 0) {
    plan->way = ReducePlan::Way::empty;
    plan->program.operands.resize(space.operands.size());
    plan->program.operands.back().offset = space.operands.back().first() * size_of(plan->dtype);
    return 0;
  }
  plan->program = compile_tiles(lowered, plan_way(lowered, widens, plan), true, accumulated);
  if (plan->segment > 0) {
    std::int64_t& tile = plan->program.tile;
    tile = std::max(plan->segment, tile / plan->segment * plan->segment);
  }
  plan_tasks(space, plan);
  return plan->chunks > 1 ? plan->chunks * plan->results * size_of(plan->type) : 0;
}

void launch_reduction(const ReducePlan& plan, const Launch& launch) {
  if (plan.way == ReducePlan::Way::empty) {
    std::byte* base = launch.operands[plan.result] + plan.program.operands.back().offset;
    std::uint64_t value = plan.identity;
    for (std::int64_t i = 0; i < plan.results; ++i) {
      store_values(plan, result_at(plan, base, i), reinterpret_cast<std::byte*>(&value), 1, 1);
    }
    return;
  }
  TileScalars scalars(plan.program, launch);
  switch (plan.way) {
    case ReducePlan::Way::rows:
      return reduce_rows(plan, launch, scalars);
    case ReducePlan::Way::segments:
      return reduce_segments(plan, launch, scalars);
    case ReducePlan::Way::columns:
      return reduce_columns(plan, launch, scalars);
    case ReducePlan::Way::empty:
      return;
  }
}

}  // namespace hearth::cpu
