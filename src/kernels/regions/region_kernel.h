// Runs fused regions on a GPU.
#pragma once

#include "graph/kernel.h"

namespace hearth::gpu {

RegionKernel gpu_region_kernel();

}  // namespace hearth::gpu
