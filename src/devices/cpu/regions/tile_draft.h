// A tile program before its tiles have places.
#pragma once

#include <cstdint>
#include <vector>

#include "core/compute_class.h"
#include "devices/cpu/regions/tile_program.h"

namespace hearth::cpu {

// Slots of steps and of the result from here on are numbers of tiles.
inline constexpr int kTileBase = 1 << 14;

struct TileDraft {
  TileProgram program;
  std::vector<ComputeClass> tile_types;  // of each tile
  std::vector<int> bound;                // the output slot that a tile was given, or -1
  std::vector<int> arities;              // of each step
  int inputs = 0;
  int next_single = 0;    // the first slot after the single values
  int result = -1;        // slot that is read after the last step
  bool streamed = false;  // an output goes past the cache
};

// Gives tiles that do not live at the same time one place, and chooses their length.
TileProgram place_tiles(TileDraft draft);

}  // namespace hearth::cpu
