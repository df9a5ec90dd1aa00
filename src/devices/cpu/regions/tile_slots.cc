#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "devices/cpu/regions/tile_draft.h"

namespace hearth::cpu {
namespace {

// Bytes of a program's tiles: they stay in first-level caches of 48 KiB, and nearly in smaller
// ones.
constexpr std::int64_t kScratchTarget = 40 << 10;

bool is_single_operand(const TileProgram& program, std::uint16_t slot) {
  const TileOperand& operand = program.operands[slot];
  return !operand.uneven && operand.line_stride == 0 && program.length > 1;
}

bool mixes_sizes(const TileDraft& draft, const TileStep& step, int count) {
  const std::int64_t size = size_of(draft.tile_types[step.target - kTileBase]);
  const auto differs = [&](std::uint16_t operand) {
    return operand >= kTileBase && size_of(draft.tile_types[operand - kTileBase]) != size;
  };
  return differs(step.a) || (count > 1 && differs(step.b)) || (count > 2 && differs(step.c));
}

// The last step that names each tile; the number of steps for one that is read after them.
std::vector<int> last_uses(const TileDraft& draft) {
  std::vector<int> last(draft.tile_types.size(), -1);
  const auto note = [&](int operand, int s) {
    if (operand >= kTileBase) last[static_cast<std::size_t>(operand - kTileBase)] = s;
  };
  const int steps = static_cast<int>(draft.program.steps.size());
  for (int s = 0; s < steps; ++s) {
    const TileStep& step = draft.program.steps[static_cast<std::size_t>(s)];
    const int count = draft.arities[static_cast<std::size_t>(s)];
    note(step.target, s);
    note(step.a, s);
    if (count > 1) note(step.b, s);
    if (count > 2) note(step.c, s);
    if (count > 3) note(step.d, s);
  }
  note(draft.result, steps);
  return last;
}

struct Places {
  std::vector<int> of;  // by tile: an output's slot, or kTileBase and a number; -1 for unused tiles
  int count = 0;
};

// Tiles live from their definition to their last use; the most recently freed place is taken first,
// because it is still in the cache.
Places find_places(const TileDraft& draft) {
  std::vector<int> last = last_uses(draft);
  Places places;
  places.of.assign(draft.tile_types.size(), -1);
  std::vector<int> freed;
  const auto take = [&](int tile) {
    int& place = places.of[static_cast<std::size_t>(tile)];
    if (draft.bound[static_cast<std::size_t>(tile)] >= 0) {
      place = draft.bound[static_cast<std::size_t>(tile)];
    } else if (freed.empty()) {
      place = kTileBase + places.count++;
    } else {
      place = freed.back();
      freed.pop_back();
    }
  };
  const auto release = [&](std::uint16_t operand, int s) {
    if (operand < kTileBase) return;
    const auto tile = static_cast<std::size_t>(operand - kTileBase);
    if (last[tile] != s || places.of[tile] < kTileBase) return;
    freed.push_back(places.of[tile]);
    last[tile] = -2;
  };
  for (const TileGather& gather : draft.program.gathers) take(gather.slot);
  for (std::size_t i = 0; i < draft.program.steps.size(); ++i) {
    const int s = static_cast<int>(i);
    const TileStep& step = draft.program.steps[i];
    const int count = draft.arities[i];
    const int target = step.target;
    // The target may take the place of an argument that ends here, unless their elements differ
    // in size: then a later element would be overwritten before it is read.
    const bool mixes = target >= kTileBase && mixes_sizes(draft, step, count);
    if (mixes) take(target - kTileBase);
    release(step.a, s);
    if (count > 1) release(step.b, s);
    if (count > 2) release(step.c, s);
    if (count > 3) release(step.d, s);
    if (!mixes && target >= kTileBase) take(target - kTileBase);
    // A result nobody reads.
    release(step.target, s);
  }
  return places;
}

void set_slots(TileDraft* draft, const Places& places) {
  TileProgram& program = draft->program;
  const auto final_slot = [&](int operand) {
    if (operand < kTileBase) return operand;
    const int where = places.of[static_cast<std::size_t>(operand - kTileBase)];
    return where < kTileBase ? where : program.first_tile + where - kTileBase;
  };
  // Operands of stride 0 are single values: reading them is no matter of length.
  const auto reads_ahead = [&](std::uint16_t slot) {
    return slot < program.first_single &&
           !(slot < draft->inputs && is_single_operand(program, slot));
  };
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    TileStep& step = program.steps[s];
    const int count = draft->arities[s];
    for (std::uint16_t* slot : {&step.target, &step.a, &step.b, &step.c, &step.d}) {
      *slot = static_cast<std::uint16_t>(final_slot(*slot));
    }
    step.spills = step.target >= program.first_tile;
    step.whole = step.spills && !reads_ahead(step.a) && !(count > 1 && reads_ahead(step.b)) &&
                 !(count > 2 && reads_ahead(step.c)) && !(count > 3 && reads_ahead(step.d));
  }
  for (TileGather& gather : program.gathers) gather.slot = final_slot(kTileBase + gather.slot);
  program.result_slot = final_slot(draft->result);
}

void set_tile_length(TileDraft* draft, int tiles) {
  TileProgram& program = draft->program;
  std::int64_t widest = 4;
  for (const ComputeClass type : draft->tile_types) widest = std::max(widest, size_of(type));
  std::int64_t tile = program.tile;
  // Memory that does not fit a cache comes best in short bursts from each operand.
  if (draft->streamed) tile = std::min<std::int64_t>(tile, kTileElements / 2);
  while (tile > 128 && tiles * (tile * widest + 64) > kScratchTarget && tiles > 0) tile /= 2;
  if (program.length < tile) {
    tile = program.length;
  } else if (tile == kTileElements) {
    // Even tiles rather than full ones and a remnant.
    const std::int64_t parts = (program.length + tile - 1) / tile;
    const std::int64_t even = (program.length + parts - 1) / parts;
    if (parts < 8) tile = std::min(tile, (even + 63) / 64 * 64);
  }
  program.tile = std::max<std::int64_t>(tile, 1);
  const std::int64_t padded = (program.tile + kTileQuantum - 1) / kTileQuantum * kTileQuantum;
  // Tiles must not lie a multiple of 4 KiB apart: loads would wait for unrelated stores.
  program.tile_bytes = (padded * widest + 127) / 64 * 64;
  program.scratch_bytes = program.tile_bytes * tiles;
}

}  // namespace

TileProgram place_tiles(TileDraft draft) {
  draft.bound.resize(draft.tile_types.size(), -1);
  const Places places = find_places(draft);
  draft.program.first_tile = draft.next_single;
  draft.program.slots = draft.program.first_tile + places.count;
  set_slots(&draft, places);
  set_tile_length(&draft, places.count);
  return std::move(draft.program);
}

}  // namespace hearth::cpu
