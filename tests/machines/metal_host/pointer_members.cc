#include "machines/metal_host/pointer_members.h"

#include <algorithm>
#include <optional>

#include "codegen/msl/preprocessor/constant_expression.h"
#include "codegen/msl/token_runs.h"
#include "hearth/error.h"

namespace hearth::metal {
namespace {

using gpu::Token;
using gpu::TokenKind;
using gpu::Tokens;

[[noreturn]] void refuse(const std::string& type, const std::string& what) {
  throw Error(ErrorCode::unsupported, "metal double: struct " + type + ": " + what);
}

bool has(Tokens tokens, std::string_view text) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const Token& token) { return token.text == text; });
}

class Reader {
 public:
  explicit Reader(const std::string& text) : tokens_(gpu::tokens_of(text)) {}

  void read(const std::string& type, const PointerMember& outer, std::vector<PointerMember>& all) {
    for (const Tokens member : members(type)) {
      const std::vector<Token> words = gpu::plain(member);
      if (!words.empty()) read_member(type, words, outer, all);
    }
  }

 private:
  // Declarations between the braces of a struct; none where the text has no such struct.
  std::vector<Tokens> members(const std::string& type) const {
    std::vector<Tokens> all;
    const Tokens tokens(tokens_);
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      if (tokens[i].text != "struct" || tokens[i + 1].text != type || tokens[i + 2].text != "{") {
        continue;
      }
      const std::size_t end = gpu::after_bracket(tokens, i + 2) - 1;
      std::size_t begin = i + 3;
      for (std::size_t at = begin; at < end;) {
        if (tokens[at].text == ";" || tokens[at].text == "{") {
          const bool is_body = tokens[at].text == "{";
          if (!is_body) all.push_back(tokens.subspan(begin, at - begin));
          at = is_body ? gpu::after_bracket(tokens, at) : at + 1;
          begin = at;
        } else {
          at = gpu::opens(tokens[at].text) ? gpu::after_bracket(tokens, at) : at + 1;
        }
      }
      if (i > 0 && tokens[i - 1].text == ">" && has(tokens.subspan(i, end - i), "*")) {
        refuse(type, "a template with pointers");
      }
      return all;
    }
    return all;
  }

  void read_member(const std::string& type, Tokens words, const PointerMember& outer,
                   std::vector<PointerMember>& all) {
    if (words[0].text == "alignas" && words.size() > 1) {
      words = words.subspan(gpu::after_bracket(words, 1));
    }
    Tokens extent;
    if (!words.empty() && words.back().text == "]") {
      std::size_t open = words.size() - 1;
      while (open > 0 && words[open].text != "[") --open;
      extent = words.subspan(open + 1, words.size() - open - 2);
      words = words.first(open);
    }
    if (words.size() < 2 || words.back().kind != TokenKind::word || has(words, "(")) return;
    PointerMember made = outer;
    made.path += (outer.path.empty() ? "" : ".") + std::string(words.back().text);
    words = words.first(words.size() - 1);
    std::vector<PointerMember> found;
    if (!extent.empty()) made.path += "[0]";
    if (has(words, "*")) {
      made.writes = !has(words, "const") && !has(words, "constant");
      found.push_back(made);
    } else if (!has(words, "<")) {
      read(std::string(words.back().text), made, found);
    }
    for (PointerMember& pointer : found) {
      if (!extent.empty()) {
        const auto count =
            gpu::evaluate(extent, [](std::string_view) { return std::optional<std::int64_t>(); });
        if (!count || !pointer.element.empty())
          refuse(type, "an array of pointers that is not read");
        pointer.element = made.path;
        pointer.count = *count;
      }
      all.push_back(pointer);
    }
  }

  const std::vector<Token> tokens_;
};

}  // namespace

std::string PointerMember::of(std::int64_t index) const {
  if (element.empty()) return path;
  const std::string number = std::to_string(index);
  return element.substr(0, element.size() - 2) + number + "]" + path.substr(element.size());
}

std::string type_of_parameter(const std::string& parameters, const std::string& name) {
  const std::vector<Token> tokens = gpu::tokens_of(parameters);
  for (const Tokens parameter : gpu::separated(tokens)) {
    const std::vector<Token> words = gpu::plain(parameter);
    if (words.size() < 3 || words.back().text != name) continue;
    for (std::size_t i = words.size() - 1; i-- > 0;) {
      const std::string_view text = words[i].text;
      if (words[i].kind == TokenKind::word && text != "constant" && text != "const") {
        return std::string(text);
      }
    }
  }
  return "";
}

std::vector<PointerMember> pointer_members(const std::string& text, const std::string& type) {
  std::vector<PointerMember> all;
  Reader(text).read(type, {}, all);
  return all;
}

}  // namespace hearth::metal
