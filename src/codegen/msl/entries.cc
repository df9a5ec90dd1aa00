#include "codegen/msl/entries.h"

#include <algorithm>

#include "codegen/msl/preprocessor/constant_expression.h"
#include "codegen/msl/token_runs.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

// "a" "b" is ab.
std::string text_of(Tokens literals) {
  std::string all;
  for (const Token& token : literals) {
    if (token.kind == TokenKind::literal) all += token.text.substr(1, token.text.size() - 2);
  }
  return all;
}

// The function that an explicit instantiation names, whose parameters may stand after it.
std::string instantiated(Tokens declaration) {
  const std::vector<Token> tokens = plain(declaration);
  std::size_t end = tokens.size();
  if (end > 0 && tokens[end - 1].text == ")") {
    int depth = 0;
    do {
      --end;
      depth += tokens[end].text == ")" ? 1 : tokens[end].text == "(" ? -1 : 0;
    } while (depth != 0 && end > 0);
  }
  std::size_t begin = end;
  int depth = 0, brackets = 0;
  while (begin > 0) {
    const std::string_view text = tokens[--begin].text;
    if (closes(text)) ++brackets;
    if (opens(text)) --brackets;
    if (brackets == 0) depth += text == ">" ? 1 : text == "<" ? -1 : 0;
    if (depth == 0 && brackets == 0) break;
  }
  if (begin > 0 && begin < end && tokens[begin].text == "<") --begin;
  std::string name;
  for (std::size_t i = begin; i < end; ++i) {
    const bool both_words =
        i > begin && is_word_character(tokens[i].text[0]) && is_word_character(name.back());
    name += (both_words ? " " : "") + std::string(tokens[i].text);
  }
  return name;
}

// The type in front of a constant's name, "static constant constexpr T"; empty unless it is one.
std::string constant_type(Tokens words) {
  bool is_constant = false;
  std::string type;
  for (const Token& word : words) {
    is_constant |= word.text == "constant";
    const bool qualifies = word.text == "constant" || word.text == "constexpr" ||
                           word.text == "static" || word.text == "const";
    if (!qualifies) type += (type.empty() ? "" : " ") + std::string(word.text);
  }
  return is_constant ? type : "";
}

[[noreturn]] void refuse_requires(std::string_view function) {
  throw Error(ErrorCode::unsupported, "kernel: " + std::string(function) +
                                          ": an entry point has constraints; got a requires "
                                          "clause, expected none: Metal's C++ does not have them");
}

// The name of a function, which stands before its parameters.
std::string_view function_after(Tokens tokens, std::size_t at) {
  for (; at + 1 < tokens.size(); ++at) {
    if (is_attribute(tokens, at)) at = after_bracket(tokens, at) - 1;
    if (is(tokens, at + 1, "(")) return tokens[at].text;
  }
  return "requires";
}

// Reads a declaration of a kernel from `begin` on, with the word kernel at `marker`; returns its
// end.
std::size_t read_declaration(MetalText& text, std::size_t begin, std::size_t marker) {
  const Tokens tokens = text.tokens;
  if (is(tokens, begin, "template") && !is(tokens, begin + 1, "<")) {
    std::size_t end = begin;
    while (end < tokens.size() && tokens[end].text != ";") ++end;
    MetalInstance instance;
    const Tokens declaration = tokens.subspan(begin, end - begin);
    for (std::size_t i = 0; i < declaration.size(); ++i) {
      if (!is_attribute(declaration, i)) continue;
      for (const Attribute& attribute : read_attribute(declaration, i)) {
        if (attribute.name == "host_name") instance.host_name = text_of(attribute.arguments);
      }
    }
    instance.function = instantiated(declaration.subspan(1));
    instance.text = source_of(tokens.subspan(begin, std::min(end + 1, tokens.size()) - begin));
    text.instances.push_back(std::move(instance));
    return end;
  }
  MetalEntry entry;
  entry.is_template = is(tokens, begin, "template") && !is(tokens, begin + 2, ">");
  std::size_t at = begin;
  if (is(tokens, begin, "template")) at = after_template(tokens, begin + 1);
  if (is(tokens, at, "requires")) refuse_requires(function_after(tokens, marker));
  for (; at < tokens.size() && tokens[at].text != "("; ++at) {
    if (!is_attribute(tokens, at)) continue;
    for (const Attribute& attribute : read_attribute(tokens, at)) {
      if (attribute.name == "host_name") entry.host_name = text_of(attribute.arguments);
    }
    at = after_bracket(tokens, at) - 1;
  }
  if (at >= tokens.size() || at == 0 || tokens[at - 1].kind != TokenKind::word) return marker;
  entry.name = tokens[at - 1].text;
  const std::size_t after = after_bracket(tokens, at);
  entry.parameters = source_of(tokens.subspan(at + 1, after - at - 2));
  at = after;
  while (is_attribute(tokens, at)) at = after_bracket(tokens, at);
  if (is(tokens, at, "requires")) refuse_requires(entry.name);
  if (is(tokens, at, "{")) {
    const std::size_t end = after_bracket(tokens, at);
    entry.body = source_of(tokens.subspan(at, end - at));
    at = end - 1;
  }
  entry.text = source_of(tokens.subspan(begin, std::min(at + 1, tokens.size()) - begin));
  text.entries.push_back(std::move(entry));
  return after - 1;
}

}  // namespace

MetalText::MetalText(std::string_view all) : text(all), tokens(tokens_of(all)) {
  std::size_t begin = 0;  // of the current declaration
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view word = tokens[i].text;
    if (word == ";" || word == "{" || word == "}") {
      begin = i + 1;
      continue;
    }
    bool is_kernel = word == "kernel";
    if (is_kernel) qualifiers.push_back(word);
    std::size_t end = i;
    if (is_attribute(tokens, i)) {
      end = after_bracket(tokens, i);
      attributes.push_back(source_of(Tokens(tokens).subspan(i, end - i)));
      for (const Attribute& attribute : read_attribute(tokens, i)) {
        is_kernel |= attribute.name == "kernel";
        if (attribute.name != "function_constant") continue;
        if (!is(tokens, end, ";") || i < begin + 3) continue;
        const std::string type = constant_type(Tokens(tokens).subspan(begin, i - begin - 1));
        if (type.empty()) continue;
        constants.push_back({std::string(tokens[i - 1].text), type,
                             source_of(Tokens(tokens).subspan(begin, end + 1 - begin)),
                             attributes.back()});
      }
      --end;
    }
    if (!is_kernel) {
      i = end;
      continue;
    }
    const std::size_t next = read_declaration(*this, begin, i);
    // Attributes and words up to there.
    for (std::size_t k = end + 1; k <= next && k < tokens.size(); ++k) {
      if (tokens[k].text == "kernel") qualifiers.push_back(tokens[k].text);
      if (!is_attribute(tokens, k)) continue;
      const std::size_t after = after_bracket(tokens, k);
      attributes.push_back(source_of(Tokens(tokens).subspan(k, after - k)));
      k = after - 1;
    }
    i = std::max(end, next);
    if (i < tokens.size() && tokens[i].text == ";") begin = i + 1;
  }
}

const MetalEntry* MetalText::entry(std::string_view name) const {
  const MetalEntry* found = nullptr;
  for (const MetalEntry& each : entries) {
    // A definition rather than a declaration.
    if (each.name == name && (found == nullptr || found->body.empty())) found = &each;
  }
  return found;
}

std::optional<std::int64_t> MetalText::value(std::string_view name) const {
  int left = kMaxLookups;
  return value(name, &left);
}

std::optional<std::int64_t> MetalText::value(std::string_view name, int* left) const {
  if (--*left < 0) return {};
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].text != name || tokens[i + 1].text != "=") continue;
    std::size_t first = i;
    while (first > 0 && tokens[first].text != ";" && tokens[first].text != "{" &&
           tokens[first].text != "}") {
      --first;
    }
    const bool is_constant = std::any_of(
        tokens.begin() + static_cast<std::ptrdiff_t>(first),
        tokens.begin() + static_cast<std::ptrdiff_t>(i),
        [](const Token& token) { return token.text == "constant" || token.text == "constexpr"; });
    if (!is_constant) continue;
    std::size_t end = i + 2;
    while (end < tokens.size() && tokens[end].text != ";") ++end;
    // Names of earlier constants only, and not too many of them.
    return evaluate(Tokens(tokens).subspan(i + 2, end - i - 2), [&](std::string_view other) {
      for (std::size_t k = 0; k < i; ++k) {
        if (tokens[k].text == other && is(tokens, k + 1, "=")) return value(other, left);
      }
      return std::optional<std::int64_t>();
    });
  }
  return {};
}

}  // namespace hearth::gpu
