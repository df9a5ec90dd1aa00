// A pattern as a program for a machine that follows all alternatives at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

struct PatternStep {
  enum class Kind : std::uint8_t {
    code,      // a code point of set `a`
    fork,      // goes on at `a`, and with less right at `b`
    jump,      // goes on at `a`
    next_is,   // the next code point is there and in set `a`
    next_not,  // there is none, or one outside of set `a`
    match,
  };
  Kind kind;
  std::uint32_t a = 0, b = 0;
};

struct PatternProgram {
  std::vector<PatternStep> steps;
  std::vector<CodeRanges> sets;
};

// Throws Error{unsupported} as Pattern's constructor does.
PatternProgram parse_pattern(std::string_view text, const std::string& source);

}  // namespace hearth::models::tokens
