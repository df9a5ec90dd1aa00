// Draws that depend on their keys alone, so that a run that resumes draws what an uninterrupted one
// would.
#pragma once

#include <cstdint>

#include "core/hashing.h"

namespace hearth::tools {

// 64 bits of three keys.
inline std::uint64_t draw(std::uint64_t seed, std::uint64_t step, std::uint64_t row) noexcept {
  return splitmix64(splitmix64(splitmix64(seed) ^ step) ^ row);
}

}  // namespace hearth::tools
