// A device that tests make for themselves.
#pragma once

#include <vector>

#include "devices/gpu/gpu_device.h"

namespace hearth::gpu {

// Keeps it as long as the process, since plans that it ran are kept.
inline GpuDevice* kept_device(GpuDevice* device) {
  static auto* const all = new std::vector<GpuDevice*>;
  all->push_back(device);
  return device;
}

}  // namespace hearth::gpu
