// Sets of code points as ranges.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace hearth::models::tokens {

inline constexpr std::uint32_t kCodePoints = 0x110000;

// Both ends are inside.
using CodeRange = std::pair<std::uint32_t, std::uint32_t>;
using CodeRanges = std::vector<CodeRange>;

// Sorted and apart, as complement() takes them.
CodeRanges merged(CodeRanges ranges);
// All other code points, surrogates among them.
CodeRanges complement(const CodeRanges& ranges);

}  // namespace hearth::models::tokens
