#include "devices/metal/objc/encoding.h"

namespace hearth::metal {
namespace {

bool is_qualifier(char c) {
  return std::string_view("rnNoORVAj").find(c) != std::string_view::npos;
}

// Past the type that begins at `at`.
std::size_t skip_type(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == '^') ++at;
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '(' || text[at] == '[') ++depth;
    if (text[at] == '}' || text[at] == ')' || text[at] == ']') --depth;
    if (depth == 0) return at + 1;
  }
  return at;
}

}  // namespace

std::string plain_encoding(std::string_view encoding) {
  std::string plain;
  for (std::size_t at = 0; at < encoding.size(); ++at) {
    const char c = encoding[at];
    if (c == '"') {
      at = std::min(encoding.find('"', at + 1), encoding.size() - 1);
    } else if (c == '{' || c == '(') {
      plain += c;
      // A struct that is only pointed to may have no members: {name}.
      const std::size_t end = encoding.find_first_of("=})", at);
      if (end == std::string_view::npos) break;
      plain += '?';
      if (encoding[end] == '=') plain += '=';
      at = encoding[end] == '=' ? end : end - 1;
    } else if (!is_qualifier(c) && (c < '0' || c > '9')) {
      plain += c;
    }
  }
  return plain;
}

std::string call_shape(std::string_view plain) {
  std::string shape;
  for (std::size_t at = 0; at < plain.size();) {
    const char c = plain[at];
    switch (c) {
      case '^':
        shape += 'p';
        at = skip_type(plain, at);
        continue;
      case '@':
        shape += 'p';
        at += at + 1 < plain.size() && plain[at + 1] == '?' ? 2 : 1;  // "@?" is a block
        continue;
      case '*':
      case '#':
      case ':':
        shape += 'p';
        break;
      case 'q':
      case 'Q':
      case 'l':
      case 'L':
        shape += '8';
        break;
      case 'i':
      case 'I':
        shape += '4';
        break;
      case 's':
      case 'S':
        shape += '2';
        break;
      case 'c':
      case 'C':
      case 'B':
        shape += '1';
        break;
      case '?':
      case '=':
        break;
      default:
        shape += c;
    }
    ++at;
  }
  return shape;
}

}  // namespace hearth::metal
