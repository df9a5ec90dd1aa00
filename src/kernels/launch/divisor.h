// Division by a multiplication and a shift, as kernels do it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace hearth::gpu {

#include "kernels/blocks/params.h"

// What kernels divide positions by: see divided() of kernels/blocks/divisor.h. An extent of 0 is
// never divided by.
inline Divisor divisor(std::int64_t extent) {
  if (extent > std::numeric_limits<std::int32_t>::max()) return {extent, 0, 0};
  const auto d = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
  const int shift = 31 + std::bit_width(d - 1);
  return {extent, static_cast<std::int64_t>(((std::uint64_t{1} << shift) + d - 1) / d), shift};
}

}  // namespace hearth::gpu
