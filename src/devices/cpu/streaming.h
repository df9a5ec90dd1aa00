// When results are written past the caches: there they would push out what is needed next, and cost
// a read of every line that is overwritten.
#pragma once

#include <cstdint>

namespace hearth::cpu {

// Bytes of a result from which on copies and row kernels stream it: more than one core's share of
// a last-level cache.
inline constexpr std::int64_t kStreamBytes = std::int64_t{16} << 20;
// Regions stream beyond this, where an element takes less than kRegionStreamCost nanoseconds of
// arithmetic: memory is the limit then.
inline constexpr std::int64_t kRegionStreamBytes = 2 * kStreamBytes;
inline constexpr double kRegionStreamCost = 0.3;

}  // namespace hearth::cpu
