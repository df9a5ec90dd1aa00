#include "codegen/text/tokens.h"

#include <algorithm>
#include <cctype>

namespace hearth::gpu {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::size_t blank_length(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_blank(text[at])) {
    if (text[at++] == '\n') break;
  }
  return at;
}

std::size_t literal_length(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != text[0] && text[at] != '\n') {
    at += text[at] == '\\' ? 2 : 1;
  }
  return std::min(at + 1, text.size());
}

std::size_t word_length(std::string_view text, bool number) {
  const bool hex = number && (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X");
  std::size_t at = 1;
  while (at < text.size()) {
    const char last = static_cast<char>(std::tolower(static_cast<unsigned char>(text[at - 1])));
    const bool exponent_sign =
        number && (text[at] == '+' || text[at] == '-') && last == (hex ? 'p' : 'e');
    if (!is_word_character(text[at]) && !(number && text[at] == '.') && !exponent_sign) break;
    ++at;
  }
  return at;
}

}  // namespace

bool is_digit(char c) noexcept { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_word_character(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_identifier(std::string_view text) noexcept {
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), is_word_character);
}

Token first_token(std::string_view text) noexcept {
  const auto token = [&](TokenKind kind, std::size_t length) {
    return Token{kind, text.substr(0, length)};
  };
  const auto until = [&](std::string_view end, std::size_t from) {
    const std::size_t at = text.find(end, from);
    return at == std::string_view::npos ? text.size() : at + end.size();
  };
  const char first = text[0];
  if (is_blank(first)) return token(TokenKind::space, blank_length(text));
  if (text.substr(0, 2) == "//") {
    return token(TokenKind::comment, std::min(text.find('\n'), text.size()));
  }
  if (text.substr(0, 2) == "/*") return token(TokenKind::comment, until("*/", 2));
  if (first == '"' || first == '\'') return token(TokenKind::literal, literal_length(text));
  // Digits, or a point before a digit.
  const bool number = is_digit(first) || (first == '.' && text.size() > 1 && is_digit(text[1]));
  if (number) return token(TokenKind::number, word_length(text, true));
  if (is_word_character(first)) return token(TokenKind::word, word_length(text, false));
  return token(TokenKind::mark, 1);
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  bool begins_line = true;
  while (!text.empty()) {
    Token token = first_token(text);
    if (begins_line && token.text == "#") {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    text.remove_prefix(token.text.size());
    if (token.kind == TokenKind::space) {
      begins_line |= token.text.back() == '\n';
    } else if (token.kind != TokenKind::comment) {
      begins_line = false;
      tokens.push_back(token);
    }
  }
  return tokens;
}

}  // namespace hearth::gpu
