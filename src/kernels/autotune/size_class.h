// Extents as tuning classes name them.
#pragma once

#include <cstdint>
#include <string>

#include "core/integer_math.h"

namespace hearth::gpu {

// The smallest power of two that is not below the extent, so that a class has a bounded number of
// sizes; one above `most` counts as `most`, beyond which nothing changes.
inline std::int64_t size_class(std::int64_t extent, std::int64_t most = 8192) {
  if (extent >= most) return most;
  return ceil_power_of_two(extent);
}

// " m1024".
inline std::string sized(const char* name, std::int64_t extent) {
  return " " + std::string(name) + std::to_string(size_class(extent));
}

}  // namespace hearth::gpu
