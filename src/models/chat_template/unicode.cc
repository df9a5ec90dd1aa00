#include "models/chat_template/unicode.h"

#include <algorithm>
#include <cstdint>

#include "models/tokenizer/unicode.h"

namespace hearth::models::chat_template {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

bool within(char32_t code, char32_t low, char32_t high) { return code >= low && code <= high; }

using Facts = tokens::CharacterFacts;
bool has_fact(char32_t code, std::uint32_t fact) {
  return (tokens::character_facts(code) & fact) != 0;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + size > text.size()) return {lead, 1};
  char32_t code = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[at + i])) return {lead, 1};
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10ffff || within(code, 0xd800, 0xdfff)) return {lead, 1};
  return {code, size};
}

std::size_t last_character_size(std::string_view text) {
  for (std::size_t size = 2; size <= std::min<std::size_t>(4, text.size()); ++size) {
    if (character_at(text, text.size() - size).size == size) return size;
  }
  return 1;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).size) ++count;
  return count;
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += character_at(text, at).size;
  return at;
}

void append_character(std::string& out, char32_t code) {
  if (code > 0x10ffff || within(code, 0xd800, 0xdfff)) code = 0xfffd;
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

bool is_space(char32_t code) {
  return within(code, 9, 13) || within(code, 0x1c, 0x20) || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || within(code, 0x2000, 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

bool is_printable(char32_t code) { return has_fact(code, Facts::kPrintable); }
bool is_upper(char32_t code) { return has_fact(code, Facts::kUpper); }
bool is_lower(char32_t code) { return has_fact(code, Facts::kLower); }
bool is_title(char32_t code) { return tokens::category(code) == tokens::Category::Lt; }
bool is_letter(char32_t code) { return tokens::is_letter(code); }
bool is_numeric(char32_t code) { return has_fact(code, Facts::kNumeric); }
bool is_decimal(char32_t code) { return has_fact(code, Facts::kDecimal); }
// Digits of a script stand in order, and begin with 0.
int decimal_value(char32_t code) {
  char32_t first = code;
  while (is_decimal(first - 1)) --first;
  return static_cast<int>((code - first) % 10);
}
bool is_digit(char32_t code) { return has_fact(code, Facts::kDigit); }
bool is_word_part(char32_t code) { return is_letter(code) || is_numeric(code) || code == '_'; }

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character each = character_at(text, at);
    if (!is_space(each.code) || (each.size == 1 && each.code >= 0x80)) break;
    at += each.size;
  }
  return at;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t size = last_character_size(text.substr(0, end));
    const char32_t code = character_at(text, end - size).code;
    if (!is_space(code) || (size == 1 && code >= 0x80)) break;
    end -= size;
  }
  return text.size() - end;
}

}  // namespace hearth::models::chat_template
