#include "models/chat_template/unicode.h"

#include <algorithm>
#include <cstdint>

namespace hearth::models::chat_template {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

bool within(char32_t code, char32_t low, char32_t high) { return code >= low && code <= high; }

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

bool is_printable(char32_t code) {
  if (code < 0x7f) return code >= 0x20;
  return code > 0xa0 && code != 0xad && !is_space(code) && !within(code, 0x200b, 0x200f) &&
         !within(code, 0x202a, 0x202e) && !within(code, 0x2060, 0x206f) && code != 0xfeff &&
         !within(code, 0xd800, 0xf8ff) && !within(code, 0xfff0, 0xfffb) &&
         (code & 0xfffe) != 0xfffe && code < 0xe0000;
}

char32_t to_upper(char32_t code) {
  if (within(code, 'a', 'z')) return code - 32;
  if (code < 0x80) return code;
  if (code == 0xb5) return 0x39c;
  if (code == 0xff) return 0x178;
  if (within(code, 0xe0, 0xfe) && code != 0xf7) return code - 32;
  if (within(code, 0x3b1, 0x3c9)) return code == 0x3c2 ? 0x3a3 : code - 32;
  if (code == 0x3ac) return 0x386;
  if (within(code, 0x3ad, 0x3af)) return code - 37;
  if (code == 0x3cc) return 0x38c;
  if (code == 0x3cd || code == 0x3ce) return code - 63;
  if (within(code, 0x430, 0x44f)) return code - 32;
  if (within(code, 0x450, 0x45f)) return code - 80;
  return code;
}

char32_t to_lower(char32_t code) {
  if (within(code, 'A', 'Z')) return code + 32;
  if (code < 0x80) return code;
  if (code == 0x178) return 0xff;
  if (within(code, 0xc0, 0xde) && code != 0xd7) return code + 32;
  if (within(code, 0x391, 0x3a9) && code != 0x3a2) return code + 32;
  if (code == 0x386) return 0x3ac;
  if (within(code, 0x388, 0x38a)) return code + 37;
  if (code == 0x38c) return 0x3cc;
  if (code == 0x38e || code == 0x38f) return code + 63;
  if (within(code, 0x410, 0x42f)) return code + 32;
  if (within(code, 0x400, 0x40f)) return code + 80;
  return code;
}

bool is_upper(char32_t code) { return to_lower(code) != code; }
bool is_lower(char32_t code) { return to_upper(code) != code || code == 0xdf; }

bool is_letter(char32_t code) {
  if (code < 0x80) return within(code | 32, 'a', 'z');
  if (code < 0x100)
    return code == 0xaa || code == 0xb5 || code == 0xba || is_upper(code) || is_lower(code);
  return is_printable(code);
}

std::string upper(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character each = character_at(text, at);
    if (each.code == 0xdf && each.size == 2) {
      out += "SS";
    } else if (const char32_t code = to_upper(each.code);
               code != each.code && (each.size > 1 || each.code < 0x80)) {
      append_character(out, code);
    } else {
      out += text.substr(at, each.size);
    }
    at += each.size;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character each = character_at(text, at);
    if (const char32_t code = to_lower(each.code);
        code != each.code && (each.size > 1 || each.code < 0x80)) {
      append_character(out, code);
    } else {
      out += text.substr(at, each.size);
    }
    at += each.size;
  }
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Character each = character_at(text, at);
    const std::string_view letter = text.substr(at, each.size);
    out += is_upper(each.code) ? lower(letter) : upper(letter);
    at += each.size;
  }
  return out;
}

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
