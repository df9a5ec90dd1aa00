// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with a character
};

Utf8Character first_character(std::string_view text);
bool is_utf8(std::string_view text);
void append_utf8(std::string& out, char32_t code);

}  // namespace hearth
