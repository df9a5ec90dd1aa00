// Which values of a region are used, how often, and where last.
#pragma once

#include "graph/lower/lowered_region.h"

namespace hearth {

// Sets `uses` and LoweredInstruction::live.
void count_uses(LoweredRegion* lowered);
// Sets `last_read`, after fmas were formed.
void find_last_reads(LoweredRegion* lowered);

}  // namespace hearth
