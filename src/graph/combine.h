// How reductions combine elements.
#pragma once

#include <cstdint>

namespace hearth {

// `any` is the max of truths and `all` their min. The identity follows: 0, 1, and for max and min
// the least and the greatest value of the dtype, infinite for floats. NaN wins over every number;
// among -0 and +0 max and min may give either.
enum class Combine : std::uint8_t { none, sum, prod, max, min };
inline constexpr int kCombines = 5;

}  // namespace hearth
