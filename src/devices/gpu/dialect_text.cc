#include "devices/gpu/dialect_text.h"

#include <algorithm>
#include <cctype>

#include "hearth/error.h"

namespace hearth::gpu {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Digits, or a point before a digit.
bool is_number(std::string_view text) {
  return is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1]));
}

// The length of the comment, literal text, word or number at the beginning of `text`, or 1.
std::size_t token_length(std::string_view text) {
  const auto until = [&](std::string_view end, std::size_t from) {
    const std::size_t at = text.find(end, from);
    return at == std::string_view::npos ? text.size() : at + end.size();
  };
  if (text.substr(0, 2) == "//") return std::min(text.find('\n'), text.size());
  if (text.substr(0, 2) == "/*") return until("*/", 2);
  if (text[0] == '"' || text[0] == '\'') {
    std::size_t at = 1;
    while (at < text.size() && text[at] != text[0] && text[at] != '\n') {
      at += text[at] == '\\' ? 2 : 1;
    }
    return std::min(at + 1, text.size());
  }
  const bool number = is_number(text);
  if (!number && !is_word(text[0])) return 1;
  const bool hex = number && text.substr(0, 2) == "0x";
  std::size_t at = 1;
  while (at < text.size()) {
    const char last = static_cast<char>(std::tolower(static_cast<unsigned char>(text[at - 1])));
    const bool exponent_sign =
        number && (text[at] == '+' || text[at] == '-') && last == (hex ? 'p' : 'e');
    if (!is_word(text[at]) && !(number && text[at] == '.') && !exponent_sign) break;
    ++at;
  }
  return at;
}

bool is_float_literal(std::string_view token) {
  if (!is_number(token)) return false;
  const bool hex = token.size() > 1 && (token[1] == 'x' || token[1] == 'X');
  return token.find_first_of(hex ? "pP" : ".eEhH") != std::string_view::npos;
}

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "kernel: " + name + ": " + what);
}

}  // namespace

std::string with_float_literals(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::string_view token = text.substr(0, token_length(text));
    text.remove_prefix(token.size());
    if (!is_float_literal(token)) {
      result += token;
      continue;
    }
    const char last = token.back();
    if (last == 'h' || last == 'H') {
      std::string number(token.substr(0, token.size() - 1));
      if (number.find_first_of(".eE") == std::string::npos) number += '.';
      result += "half(" + number + "f)";
    } else {
      result += token;
      if (last == '.' || is_digit(last)) result += 'f';
    }
  }
  return result;
}

bool mentions(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view token = text.substr(0, token_length(text));
    if (token == word) return true;
    text.remove_prefix(token.size());
  }
  return false;
}

void check_dialect(std::string_view text, const std::string& name) {
  bool in_array = false;  // since the word threadgroup, nothing but a type and a name
  while (!text.empty()) {
    const std::string_view token = text.substr(0, token_length(text));
    text.remove_prefix(token.size());
    if (token == "kernel") {
      fail(
          name,
          "the text has an entry point; got the word kernel, expected a plain function with a Ctx: "
          "entry points are generated from the list of parameters");
    }
    if (token == "threadgroup") {
      in_array = true;
    } else if (in_array && (token == "[" || token == ";")) {
      fail(
          name,
          "a function declares threadgroup memory; got \"threadgroup\" without a pointer, expected "
          "an array among the parameters");
    } else if (token.size() == 1 && !is_word(token[0]) && token[0] != '<' && token[0] != ' ' &&
               token[0] != '\n') {
      in_array = false;
    }
  }
}

}  // namespace hearth::gpu
