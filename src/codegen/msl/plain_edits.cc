#include "codegen/msl/plain_edits.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/msl/token_runs.h"

namespace hearth::gpu {
namespace {

constexpr std::string_view kWrappers[] = {"bf16_math.h"};

// xy to wzyx: what the prelude has as functions (kernels/prelude/vec.h).
bool is_swizzle(std::string_view word) {
  constexpr std::string_view kKnown[] = {"xy", "xz", "yz", "zw", "yx", "wz", "xyz", "yzw"};
  for (const std::string_view each : kKnown) {
    if (word == each) return true;
  }
  return false;
}

}  // namespace

void rewrite_range_initialisers(const std::vector<Token>& tokens, TextEdits& edits) {
  for (std::size_t i = 1; i + 6 < tokens.size(); ++i) {
    // = { [ 0 . . .
    if (!is(tokens, i, "=") || !is(tokens, i + 1, "{") || !is(tokens, i + 2, "[") ||
        !is(tokens, i + 4, ".") || !is(tokens, i + 5, ".") || !is(tokens, i + 6, ".")) {
      continue;
    }
    const std::size_t value = behind_bracket(tokens, i + 2) + 1;
    const std::size_t end = behind_bracket(tokens, i + 1);
    std::size_t name = i - 1;
    while (name > 0 && tokens[name].text != "[") --name;
    if (name == 0 || value + 1 >= end || end >= tokens.size()) continue;
    edits.replace(stretch(Tokens(tokens).subspan(i, end - i)),
                  "; for (auto& hearth_element : " + std::string(tokens[name - 1].text) +
                      ") hearth_element = " +
                      std::string(stretch(Tokens(tokens).subspan(value, end - 1 - value))));
  }
}

void rewrite_member_specialisations(const std::vector<Token>& tokens, TextEdits& edits) {
  std::vector<bool> in_class = {false};  // of the scopes that are open
  std::size_t statement = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is(tokens, i, "{")) {
      bool is_class = false;
      for (std::size_t k = statement; k < i && tokens[k].text != "("; ++k) {
        is_class |= is(tokens, k, "struct") || is(tokens, k, "class") || is(tokens, k, "union");
      }
      in_class.push_back(is_class && tokens[i - 1].text != ")");
    }
    if (is(tokens, i, "}") && in_class.size() > 1) in_class.pop_back();
    if (is(tokens, i, ";") || is(tokens, i, "{") || is(tokens, i, "}")) statement = i + 1;
    if (!in_class.back() || i != statement || !is(tokens, i, "template") ||
        !is(tokens, i + 1, "<") || !is(tokens, i + 2, ">")) {
      continue;
    }
    std::size_t call = i + 3;
    while (call < tokens.size() && tokens[call].text != "(" && tokens[call].text != "{" &&
           tokens[call].text != ";") {
      ++call;
    }
    // Arguments that are named are not found by parameters.
    if (is(tokens, call, "(") && !is(tokens, call - 1, ">")) {
      edits.replace(stretch(Tokens(tokens).subspan(i, 3)), "");
    }
  }
}

void rewrite_swizzles(const std::vector<Token>& tokens, TextEdits& edits) {
  std::set<std::string_view> own;  // members of the text
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is_swizzle(tokens[i].text) && (i == 0 || !is(tokens, i - 1, "."))) {
      own.insert(tokens[i].text);
    }
  }
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    if (!is(tokens, i - 1, ".") || !is_swizzle(tokens[i].text) || own.count(tokens[i].text) > 0) {
      continue;
    }
    edits.replace(tokens[i].text, std::string(tokens[i].text) + "()");
  }
}

std::vector<std::string_view> wrapper_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = text.npos;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with("#line ") && line.ends_with('"')) {
      if (begin != text.npos) parts.push_back(text.substr(begin, at - begin));
      begin = text.npos;
      const std::string_view path =
          line.substr(line.find('"') + 1, line.size() - line.find('"') - 2);
      for (const std::string_view each : kWrappers) {
        if (path == each || path.ends_with("/" + std::string(each))) begin = end;
      }
    }
    at = end + 1;
  }
  if (begin != text.npos) parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace hearth::gpu
