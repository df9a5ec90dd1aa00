// What templates need to know of characters, as Python's str has it.
//
// Case is known for ASCII, Latin-1, Greek and Cyrillic letters; letters of other scripts are left
// as they are. Bytes that are no UTF-8 count as one character each.
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
// Whether repr() shows it as it is; unassigned characters count as printable.
bool is_printable(char32_t code);
bool is_upper(char32_t code);
bool is_lower(char32_t code);
// A letter, as far as is known: past Latin-1 every printable character that is no space.
bool is_letter(char32_t code);
inline bool is_digit(char32_t code) { return code >= '0' && code <= '9'; }
char32_t to_upper(char32_t code);
char32_t to_lower(char32_t code);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string swap_case(std::string_view text);

// The bytes of white space at the beginning and at the end.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

}  // namespace hearth::models::chat_template
