// What a grammar's rules say, as a tree: what its text is parsed to, and its automaton made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tokenizer/code_ranges.h"

namespace hearth::models::grammar {

using tokens::CodeRange;
using tokens::CodeRanges;

struct Expression {
  enum class Kind : std::uint8_t {
    literal,      // `text`, UTF-8
    one_of,       // one code point of `ranges`
    token,        // a whole token: `token`, or any but that where `is_negated`
    rule,         // what rule `rule` says
    sequence,     // `parts`, one after the other; none: the empty text
    alternative,  // one of `parts`
    repeat,       // parts[0], from `least` to `most` times
  };
  static constexpr std::uint32_t kUnlimited = 0xffffffff;

  Kind kind = Kind::sequence;
  bool is_negated = false;
  std::int32_t token = -1;
  std::uint32_t rule = 0;
  std::uint32_t least = 0, most = kUnlimited;
  std::string text;
  CodeRanges ranges;  // sorted and apart, without surrogates
  std::vector<Expression> parts;
};

struct Rule {
  std::string name;
  Expression body;
  std::size_t offset = 0;  // of its name in the text
};

struct Syntax {
  std::vector<Rule> rules;
  std::uint32_t root = 0;
};

// Sorts and merges; cuts surrogates and what is beyond U+10FFFF; all others where `is_negated`.
CodeRanges normal_ranges(CodeRanges ranges, bool is_negated);

}  // namespace hearth::models::grammar
