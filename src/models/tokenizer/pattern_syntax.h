// Patterns as they are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

inline constexpr std::uint32_t kUnlimitedRepeats = ~0u;

// A part of a pattern: code points of `set` (set, next_is, next_not), or of its children.
struct PatternNode {
  enum class Kind : std::uint8_t { set, sequence, choice, repeat, next_is, next_not };
  Kind kind = Kind::sequence;
  std::vector<PatternNode> children;
  CodeRanges set;
  std::uint32_t least = 0, most = 0;  // repetitions; most may be kUnlimitedRepeats
  bool lazy = false, possessive = false;
};

// Throws as fail_pattern() does.
PatternNode parse_pattern_tree(std::string_view text, const std::string& source);

// Throws Error{unsupported} with the text and what at the byte is not understood.
[[noreturn]] void fail_pattern(std::string_view text, const std::string& source, std::size_t at,
                               const std::string& what);

CodeRanges complement(const CodeRanges& ranges);
CodeRanges merged(CodeRanges ranges);  // sorts, and joins what overlaps

}  // namespace hearth::models::tokens
