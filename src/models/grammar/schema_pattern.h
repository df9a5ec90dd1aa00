// Regular expressions of schemas as grammars.
#pragma once

#include <string>

namespace hearth::models::grammar {

// The inside of a JSON string that matches the regular expression, in GBNF. `any_text` is an
// expression for what may stand around a pattern that is not anchored. Throws Error{unsupported}
// with the offset for what is not in the subset, Error{invalid_argument} for what is no pattern.
std::string pattern_grammar(const std::string& pattern, const std::string& any_text);

}  // namespace hearth::models::grammar
