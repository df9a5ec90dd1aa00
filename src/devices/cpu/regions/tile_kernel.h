// The CPU's region kernel: fused elementwise regions, their reductions, and copies.
#pragma once

#include "graph/implementation.h"

namespace hearth::cpu {

// Regions run as tile programs (tile_program.h). Inputs may have any strides; an output may be the
// memory of an input that has the same layout. Results do not depend on the number of threads.
//
// Integers wrap in their dtype; x / 0 and x remainder 0 are 0; a cast from float truncates and
// saturates, NaN gives 0. Reductions in f32 (f16 and bf16 too) and f64 keep many partial sums.
RegionImplementation cpu_regions();

}  // namespace hearth::cpu
