// How much work keeps a device busy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/device/device_traits.h"

namespace hearth::gpu {

// At least 1, whatever a driver says.
inline std::int64_t processors(const runtime::DeviceTraits& device) {
  return std::max<std::int64_t>(device.processors, 1);
}

// Threads that the device runs at the same time, at most; at least 1.
inline std::int64_t resident_threads(const runtime::DeviceTraits& device) {
  return processors(device) * std::max<std::int64_t>(device.processor_threads, 1);
}

// Threadgroups of `threads` threads that it runs at the same time, at least 1.
inline std::int64_t resident_groups(const runtime::DeviceTraits& device, std::int64_t threads) {
  return std::max<std::int64_t>(resident_threads(device) / threads, 1);
}

}  // namespace hearth::gpu
