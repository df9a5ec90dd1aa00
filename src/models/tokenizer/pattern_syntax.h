// Patterns as they are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

inline constexpr std::uint32_t kUnlimitedRepeats = ~0u;

// A part of a pattern: code points of `set` (set, next_is, next_not), of its children, or a border
// of a word.
struct PatternNode {
  // next_is and next_not look at one code point, ahead_is and ahead_not at any number.
  enum class Kind : std::uint8_t {
    set,
    sequence,
    choice,
    repeat,
    next_is,
    next_not,
    ahead_is,
    ahead_not,
    border,
    no_border,
  };
  Kind kind = Kind::sequence;
  std::vector<PatternNode> children;
  CodeRanges set;
  std::uint32_t least = 0, most = 0;  // repetitions; most may be kUnlimitedRepeats
  bool lazy = false, possessive = false;
};

// Throws as fail_pattern() does.
PatternNode parse_pattern_tree(std::string_view text, const std::string& source);

}  // namespace hearth::models::tokens
