// Which operations of a region become fused multiply-adds: one rule for all devices.
#pragma once

#include "graph/lower/lowered_region.h"

namespace hearth {

// A product of floats whose only use is a sum or a difference of its dtype becomes part of it;
// where both arguments are such products the first one does. Leaving the region is a use. None is
// formed with Region::exact. Sets LoweredInstruction::product and `absorbed`, after uses were
// counted.
void form_fmas(LoweredRegion* lowered);

}  // namespace hearth
