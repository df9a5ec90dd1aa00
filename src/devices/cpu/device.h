// The CPU device: host memory, kernels run by the calling thread and the worker pool.
#pragma once

#include <memory>
#include <string>

#include "graph/selector.h"

namespace hearth::cpu {

void register_cpu_device();
// One with rules, as HEARTH_CHOICES, of its own.
std::unique_ptr<DeviceImpl> make_device(int index, std::string rules);

// The kernels of the CPU, for other devices that run on host memory.
const Selector& selector();

}  // namespace hearth::cpu
