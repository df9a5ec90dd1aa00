// Templates cut into tokens.
//
// As jinja2 with trim_blocks and lstrip_blocks: the line break behind a block or comment goes, and
// so does white space before one that begins a line. `-` in a mark takes all white space on its
// side, `+` keeps it. Line breaks are \n afterwards, and one at the very end goes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::models::chat_template {

enum class TokenKind {
  data,  // text between marks, never empty
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  text,  // a literal, its escapes resolved
  integer,
  floating,
  symbol,  // an operator or bracket, in `text`
  end,     // of the template
};

struct Token {
  TokenKind kind;
  int line;  // from 1
  std::string text;
  std::int64_t integer = 0;
  double floating = 0;
};

// Ends with a token of kind `end`. Throws Error{invalid_argument}, which names the line.
std::vector<Token> tokenize(std::string_view source);

}  // namespace hearth::models::chat_template
