// Runs fused regions on a GPU.
#pragma once

#include "graph/implementation.h"

namespace hearth::gpu {

Prepared prepare_region(LoweredRegion lowered);
void launch_region(const Launch& launch);

inline constexpr RegionImplementation kRegions{.prepare = prepare_region, .launch = launch_region};

}  // namespace hearth::gpu
