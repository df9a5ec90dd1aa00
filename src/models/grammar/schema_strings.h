// JSON strings as grammars: by length, by pattern, by format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::models::grammar {

// A text as a literal of GBNF.
std::string gbnf_literal(std::string_view text);

// One character of a JSON string, in GBNF: any but those that JSON writes with a backslash, and
// escapes. Escapes are of whole code points.
std::string json_char_grammar();
// A character that is never written as an escape.
std::string json_plain_char_grammar();

// The inside of a JSON string that matches the regular expression, in GBNF. `any_text` is an
// expression for what may stand around a pattern that is not anchored. Throws Error{unsupported}
// with the offset for what is not in the subset, Error{invalid_argument} for what is no pattern.
std::string pattern_grammar(const std::string& pattern, const std::string& any_text);

// The inside of a string of date, time, date-time or uuid; nothing for other formats.
std::optional<std::string> format_grammar(std::string_view format);

// A string with quotes, without escapes and not one of `names`, which are UTF-8.
std::string other_name_grammar(const std::vector<std::string>& names);

}  // namespace hearth::models::grammar
