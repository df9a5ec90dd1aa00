// For tests of what fails where memory ends.
#pragma once

#include <cstdint>
#include <limits>

#include "hearth/device.h"

namespace hearth::testing {

// The default device has so many bytes at most, until this ends.
struct MemoryLimit {
  explicit MemoryLimit(std::int64_t bytes) { Device().set_memory_limit(bytes); }
  ~MemoryLimit() { Device().set_memory_limit(std::numeric_limits<std::int64_t>::max()); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

}  // namespace hearth::testing
