// JSON strings as grammars: of any characters, of a format, of other names than some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::models::grammar {

// One character of a JSON string, in GBNF: any but those that JSON writes with a backslash, and
// escapes. Escapes are of whole code points.
std::string json_char_grammar();
// A character that is never written as an escape.
std::string json_plain_char_grammar();

// A string with quotes, without escapes and not one of `names`, which are UTF-8.
std::string other_name_grammar(const std::vector<std::string>& names);

}  // namespace hearth::models::grammar
