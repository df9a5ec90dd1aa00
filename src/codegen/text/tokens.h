// The tokens of kernel texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hearth::gpu {

enum class TokenKind : std::uint8_t { space, comment, word, number, literal, mark };

// A part of a text: a run of blanks with at most one newline, a comment, a name, a number, a
// literal text in its quotes, or one character of anything else.
struct Token {
  TokenKind kind = TokenKind::mark;
  std::string_view text;
};

bool is_digit(char c) noexcept;
bool is_word_character(char c) noexcept;
// Letters, digits and underscores, and no digit in front.
bool is_identifier(std::string_view text) noexcept;

// The token at the beginning of a text that is not empty.
Token first_token(std::string_view text) noexcept;

// All tokens of a text but blanks and comments, as parts of it. Lines that begin with # are none.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace hearth::gpu
