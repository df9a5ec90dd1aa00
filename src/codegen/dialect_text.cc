#include "codegen/dialect_text.h"

#include "codegen/text/tokens.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

bool is_float_literal(Token token) {
  if (token.kind != TokenKind::number) return false;
  const bool hex = token.text.size() > 1 && (token.text[1] == 'x' || token.text[1] == 'X');
  return token.text.find_first_of(hex ? "pP" : ".eEhH") != std::string_view::npos;
}

[[noreturn]] void fail_dialect(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "kernel: " + name + ": " + what);
}

}  // namespace

std::string with_float_literals(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Token read = first_token(text);
    const std::string_view token = read.text;
    text.remove_prefix(token.size());
    if (!is_float_literal(read)) {
      result += token;
      continue;
    }
    const char last = token.back();
    const bool is_bfloat = token.ends_with("bf") || token.ends_with("BF");
    if (last == 'h' || last == 'H' || is_bfloat) {
      std::string number(token.substr(0, token.size() - (is_bfloat ? 2 : 1)));
      if (number.find_first_of(".eE") == std::string::npos) number += '.';
      result += (is_bfloat ? "bfloat(" : "half(") + number + "f)";
    } else {
      result += token;
      if (last == '.' || is_digit(last)) result += 'f';
    }
  }
  return result;
}

bool mentions(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view token = first_token(text).text;
    if (token == word) return true;
    text.remove_prefix(token.size());
  }
  return false;
}

void check_dialect(std::string_view text, const std::string& name) {
  bool in_array = false;  // since the word threadgroup, nothing but a type and a name
  while (!text.empty()) {
    const Token read = first_token(text);
    const std::string_view token = read.text;
    text.remove_prefix(token.size());
    if (token == "kernel") {
      fail_dialect(
          name,
          "the text has an entry point; got the word kernel, expected a plain function with a Ctx: "
          "entry points are generated from the list of parameters, or taken as they are by "
          "metal_kernel()");
    }
    if (token == "vertex" || token == "fragment") {
      fail_dialect(name, "a name is a word of Metal's; got " + std::string(token) +
                             ", expected another one");
    }
    if (token == "threadgroup") {
      in_array = true;
    } else if (in_array && (token == "[" || token == ";")) {
      fail_dialect(
          name,
          "a function declares threadgroup memory; got \"threadgroup\" without a pointer, expected "
          "an array among the parameters");
    } else if (read.kind == TokenKind::mark && token != "<") {
      in_array = false;
    }
  }
}

}  // namespace hearth::gpu
