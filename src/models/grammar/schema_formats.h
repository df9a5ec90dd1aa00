// Formats of strings as regular expressions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::models::grammar {

// A pattern, whose texts are all of the format; nothing for names that are no format of the
// standard, which only describe. Throws Error{unsupported} for those of the standard that are no
// patterns.
std::optional<std::string> format_pattern(std::string_view format);

}  // namespace hearth::models::grammar
