// What templates need to know of characters, as Python's str has it. Bytes that are no UTF-8
// count as one character each, without case.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth::models::chat_template {

// A character and the bytes that it takes; `at` < text.size().
struct Character {
  char32_t code;
  std::size_t size;
};
Character character_at(std::string_view text, std::size_t at);
// The bytes of the last character of what is not empty.
std::size_t last_character_size(std::string_view text);
std::size_t count_characters(std::string_view text);
// The byte at which the character of this index begins; text.size() past the last.
std::size_t byte_of_character(std::string_view text, std::size_t index);
// Appends it as UTF-8. Surrogates and what is past U+10FFFF become U+FFFD.
void append_character(std::string& out, char32_t code);

bool is_space(char32_t code);
// Whether repr() shows it as it is.
bool is_printable(char32_t code);
bool is_upper(char32_t code);
bool is_lower(char32_t code);
// As capitals within a title, such as U+01C5: neither of both.
bool is_title(char32_t code);
bool is_letter(char32_t code);
bool is_numeric(char32_t code);
bool is_decimal(char32_t code);
int decimal_value(char32_t code);  // of what is_decimal()
// Digits of any script, and raised or circled ones.
bool is_digit(char32_t code);
// What expressions of Python call \w.
bool is_word_part(char32_t code);

// The bytes of white space at the beginning and at the end.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

}  // namespace hearth::models::chat_template
