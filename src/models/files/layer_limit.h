// How deep and wide models may be.
#pragma once

#include <cstdint>

namespace hearth::models {

// Far beyond any model; a file that says more would only take memory.
inline constexpr std::int64_t kMostLayers = 10000;

// Of widths and counts of parts, of which products of two or three then do not overflow.
inline constexpr std::int64_t kMostCount = std::int64_t{1} << 20;

}  // namespace hearth::models
