// Extents as tuning classes name them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

namespace hearth::gpu {

// The smallest power of two that is not below the extent, so that a class has a bounded number of
// sizes; one above `most` counts as `most`, beyond which nothing changes.
inline std::int64_t size_class(std::int64_t extent, std::int64_t most = 8192) {
  if (extent >= most) return most;
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1))));
}

// " m1024".
inline std::string sized(const char* name, std::int64_t extent) {
  return " " + std::string(name) + std::to_string(size_class(extent));
}

}  // namespace hearth::gpu
