#include "codegen/text/declared_functions.h"

#include <vector>

#include "codegen/text/tokens.h"

namespace hearth::gpu {
namespace {

bool is_keyword(std::string_view word) {
  for (const std::string_view keyword :
       {"alignas", "decltype", "noexcept", "sizeof", "static_assert", "__attribute__"}) {
    if (word == keyword) return true;
  }
  return false;
}

}  // namespace

std::set<std::string_view> declared_functions(std::string_view text) {
  std::set<std::string_view> names;
  const std::vector<Token> tokens = tokens_of(text);
  int braces = 0;
  int parentheses = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view mark = tokens[i].text;
    if (mark == "{") ++braces;
    if (mark == "}") --braces;
    if (mark == ")") --parentheses;
    if (mark != "(") continue;
    const bool is_outermost = braces == 0 && parentheses == 0;
    ++parentheses;
    if (!is_outermost || i == 0 || tokens[i - 1].kind != TokenKind::word) continue;
    if (!is_keyword(tokens[i - 1].text)) names.insert(tokens[i - 1].text);
  }
  return names;
}

}  // namespace hearth::gpu
