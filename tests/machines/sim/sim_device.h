// The simulator as the device "sim", on which whatever runs on GPUs runs in tests.
#pragma once

#include "devices/gpu/gpu_device.h"

namespace hearth::sim {

// Makes the device "sim" known; later calls do nothing. Linking this file calls it. Kernels run on
// all processors and unchecked, or with HEARTH_SIM_CHECK=1 checked and on one.
gpu::GpuDevice& sim_device();

}  // namespace hearth::sim
