// How deep models may be.
#pragma once

#include <cstdint>

namespace hearth::models {

// Far beyond any model; a file that says more would only take memory.
inline constexpr std::int64_t kMostLayers = 10000;

}  // namespace hearth::models
