// The CPU device: host memory, kernels run by the calling thread and the worker pool.
#pragma once

#include "graph/kernel.h"

namespace hearth::cpu {

void register_cpu_device();

// The kernels of the CPU, for other devices that run on host memory.
const KernelTable& kernel_table();

}  // namespace hearth::cpu
