// Regular expressions of schemas.
#pragma once

#include <string>
#include <vector>

#include "models/grammar/syntax.h"

namespace hearth::models::grammar {

struct Pattern {
  Expression texts;  // without rules; whatever may stand around a pattern that is not anchored
  std::vector<Expression> excluded;  // texts that do not match all the same: (?!...) behind ^
  // Dialects differ in what texts with these characters match; what is no match in ours is surely
  // none in any where the text has none of them.
  CodeRanges disputed;
};

// Throws Error{unsupported} with the offset for what is not in the subset, Error{invalid_argument}
// for what is no pattern.
Pattern read_pattern(const std::string& pattern);

}  // namespace hearth::models::grammar
