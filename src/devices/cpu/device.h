// The CPU device: host memory, kernels run by the calling thread and the worker pool.
#pragma once

#include "graph/selector.h"

namespace hearth::cpu {

void register_cpu_device();

// The kernels of the CPU, for other devices that run on host memory.
const Selector& selector();

}  // namespace hearth::cpu
