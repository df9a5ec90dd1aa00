#include "codegen/msl/token_runs.h"

namespace hearth::gpu {

bool is(Tokens tokens, std::size_t at, std::string_view text) {
  return at < tokens.size() && tokens[at].text == text;
}

std::string_view source_of(Tokens tokens) {
  if (tokens.empty()) return {};
  const char* begin = tokens.front().text.data();
  const char* end = tokens.back().text.data() + tokens.back().text.size();
  return {begin, static_cast<std::size_t>(end - begin)};
}

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }
bool closes(std::string_view text) { return text == ")" || text == "]" || text == "}"; }

std::size_t after_bracket(Tokens tokens, std::size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (opens(tokens[at].text)) ++depth;
    if (closes(tokens[at].text) && --depth == 0) return at + 1;
  }
  return at;
}

bool is_attribute(Tokens tokens, std::size_t at) {
  return is(tokens, at, "[") && is(tokens, at + 1, "[");
}

std::vector<Attribute> read_attribute(Tokens tokens, std::size_t at) {
  const std::size_t end = after_bracket(tokens, at);
  std::vector<Attribute> all;
  for (std::size_t i = at + 2; i + 2 < end; ++i) {
    if (tokens[i].kind != TokenKind::word) continue;
    Attribute made{std::string(tokens[i].text), {}};
    if (is(tokens, i + 1, "(")) {
      const std::size_t after = after_bracket(tokens, i + 1);
      made.arguments = tokens.subspan(i + 2, after - i - 3);
      i = after - 1;
    }
    all.push_back(made);
  }
  return all;
}

std::size_t after_template(Tokens tokens, std::size_t at) {
  int depth = 0;
  while (at < tokens.size()) {
    const std::string_view text = tokens[at].text;
    if (opens(text)) {
      at = after_bracket(tokens, at);
      continue;
    }
    ++at;
    if (text == "<") ++depth;
    if (text == ">" && --depth == 0) break;
  }
  return at;
}

std::vector<Tokens> separated(Tokens tokens) {
  std::vector<Tokens> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    if (opens(text) || text == "<") ++depth;
    if (closes(text) || text == ">") --depth;
    if (text == "," && depth == 0) {
      parts.push_back(tokens.subspan(begin, i - begin));
      begin = i + 1;
    }
  }
  if (begin < tokens.size()) parts.push_back(tokens.subspan(begin));
  return parts;
}

std::vector<Token> plain(Tokens tokens) {
  std::vector<Token> all;
  for (std::size_t i = 0; i < tokens.size();) {
    if (is_attribute(tokens, i)) {
      i = after_bracket(tokens, i);
    } else {
      all.push_back(tokens[i++]);
    }
  }
  return all;
}

}  // namespace hearth::gpu
