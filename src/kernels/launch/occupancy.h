// How much work keeps a device busy.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "runtime/device/device_traits.h"

namespace hearth::gpu {

// Threads of a simdgroup, on every device: the dialect says so.
inline constexpr std::int64_t kSimdWidth = 32;
// An extent of a grid or of a threadgroup.
inline std::uint32_t u32(std::int64_t x) { return static_cast<std::uint32_t>(x); }
// Threadgroups along y or z: what every API allows.
inline constexpr std::int64_t kMaxLayers = 65535;
// Elements of a row are fewer than this where kernels count positions in rows in ints, with room
// for what they add to them.
inline constexpr std::int64_t kMaxRowLength = std::int64_t{1} << 30;

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

// Threads of a threadgroup, in whole simdgroups, for which a processor has room where each takes
// `registers` registers; at least `least`. Compiled for so many, a kernel has those registers.
// Where a driver knows of no registers there are as many as every GPU has.
inline std::int64_t register_threads(const runtime::DeviceTraits& device, std::int64_t registers,
                                     std::int64_t least = kSimdWidth) {
  const std::int64_t all = device.processor_registers > 0
                               ? device.processor_registers
                               : runtime::common_traits().processor_registers;
  const std::int64_t threads =
      std::min<std::int64_t>(all / std::max<std::int64_t>(registers, 1), device.max_threads);
  return std::max(threads / kSimdWidth * kSimdWidth, least);
}

// What a kernel with a use for any amount of threadgroup memory takes for `threads` threads: their
// share of a processor's, or what every GPU has where that is more, though fewer run at a time
// then.
inline std::int64_t threadgroup_budget(const runtime::DeviceTraits& device, std::int64_t threads) {
  const std::int64_t share =
      device.processor_memory / std::max<std::int64_t>(device.processor_threads / threads, 1);
  return std::min(std::max(share, runtime::common_traits().threadgroup_memory),
                  device.threadgroup_memory);
}

}  // namespace hearth::gpu
