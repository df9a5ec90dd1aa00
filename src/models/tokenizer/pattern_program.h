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
    holds,     // assertion `a` holds here
    fails,     // assertion `a` does not
    match,
  };
  Kind kind;
  std::uint32_t a = 0, b = 0;
};

// What is true of a place of a text or not: that these steps match behind it, or, where there are
// none, that it is a border of a word.
struct PatternAssertion {
  std::vector<PatternStep> steps;  // name assertions before this one only
};

struct PatternProgram {
  std::vector<PatternStep> steps;
  std::vector<CodeRanges> sets;
  std::vector<PatternAssertion> assertions;
  std::uint32_t word = 0;  // the set of what makes words, where an assertion needs it
};

// Throws Error{unsupported} as Pattern's constructor does.
PatternProgram parse_pattern(std::string_view text, const std::string& source);

}  // namespace hearth::models::tokens
