// The code points that stand for bytes in the vocabularies of GPT-2 and its kin.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hearth::models::tokens {

// Nothing where a code point of the text stands for no byte.
std::optional<std::string> bytes_of_text(std::string_view text);
std::string text_of_bytes(std::string_view bytes);

}  // namespace hearth::models::tokens
