#include "codegen/msl/plain_edits.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/msl/token_runs.h"

namespace hearth::gpu {
namespace {

// "0, 3" of the swizzle xw, or nothing.
std::string swizzled(std::string_view word) {
  if (word.size() < 2 || word.size() > 4) return {};
  for (const std::string_view letters : {"xyzw", "rgba"}) {
    std::string made;
    for (const char letter : word) {
      const std::size_t at = letters.find(letter);
      if (at == letters.npos) break;
      made += (made.empty() ? "" : ", ") + std::to_string(at);
    }
    if (made.size() == 3 * word.size() - 2) return made;
  }
  return {};
}

bool follows_member_access(const std::vector<Token>& tokens, std::size_t at) {
  return is(tokens, at - 1, ".") || (is(tokens, at - 1, ">") && is(tokens, at - 2, "-"));
}

// = or += and the like, from `at` on.
bool is_assignment(const std::vector<Token>& tokens, std::size_t at) {
  if (is(tokens, at, "=")) return !is(tokens, at + 1, "=");
  constexpr std::string_view kOperators = "+-*/&|^";
  return at < tokens.size() && kOperators.find(tokens[at].text) != kOperators.npos &&
         is(tokens, at + 1, "=");
}

}  // namespace

void rewrite_range_initialisers(const std::vector<Token>& tokens, TextEdits& edits) {
  for (std::size_t i = 1; i + 6 < tokens.size(); ++i) {
    // = { [ 0 . . .
    if (!is(tokens, i, "=") || !is(tokens, i + 1, "{") || !is(tokens, i + 2, "[") ||
        !is(tokens, i + 4, ".") || !is(tokens, i + 5, ".") || !is(tokens, i + 6, ".")) {
      continue;
    }
    const std::size_t value = after_bracket(tokens, i + 2) + 1;
    const std::size_t end = after_bracket(tokens, i + 1);
    std::size_t name = i - 1;
    while (name > 0 && tokens[name].text != "[") --name;
    if (name == 0 || value + 1 >= end || end >= tokens.size()) continue;
    edits.replace(source_of(Tokens(tokens).subspan(i, end - i)),
                  "; for (auto& hearth_element : " + std::string(tokens[name - 1].text) +
                      ") hearth_element = " +
                      std::string(source_of(Tokens(tokens).subspan(value, end - 1 - value))));
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
      edits.replace(source_of(Tokens(tokens).subspan(i, 3)), "");
    }
  }
}

void rewrite_defaulted_constructors(const std::vector<Token>& tokens, TextEdits& edits) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!is(tokens, i, "struct") && !is(tokens, i, "class")) continue;
    const std::string_view name = tokens[i + 1].text;
    std::size_t body = i + 2;
    while (body < tokens.size() && tokens[body].text.find_first_of("{;(>)=") == std::string::npos) {
      if (is(tokens, body, "<")) body = after_template(tokens, body) - 1;
      ++body;
    }
    if (!is(tokens, body, "{")) continue;
    std::vector<Tokens> defaulted;
    bool has_other = false;
    const std::size_t end = after_bracket(tokens, body) - 1;
    for (std::size_t at = body + 1, begin = at; at < end; ++at) {
      std::size_t list = at + 1;
      if (is(tokens, list, "<")) list = after_template(tokens, list);
      if (tokens[at].text == name && is(tokens, list, "(") && !is(tokens, at - 1, "~") &&
          !is(tokens, at - 1, ":")) {
        std::size_t last = after_bracket(tokens, list);
        while (last < end && !is(tokens, last, ";") && !is(tokens, last, "{")) ++last;
        if (is(tokens, last, ";") && is(tokens, last - 1, "default")) {
          defaulted.push_back(Tokens(tokens).subspan(begin, last + 1 - begin));
        } else {
          has_other = true;
        }
      }
      if (is(tokens, at, "{")) at = after_bracket(tokens, at) - 1;
      if (is(tokens, at, ";") || is(tokens, at, "}") || is(tokens, at, ":")) begin = at + 1;
    }
    for (const Tokens constructor : defaulted) {
      if (!has_other) edits.replace(source_of(constructor), "");
    }
  }
}

void rewrite_metal_specialisations(const std::vector<Token>& tokens, TextEdits& edits) {
  const auto is_class = [&](std::size_t at) {
    return is(tokens, at, "struct") || is(tokens, at, "class");
  };
  std::set<std::string_view> own;  // templates of the text
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (is_class(i) && !is(tokens, i + 2, "<")) {
      own.insert(tokens[i + 1].text);
    }
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is(tokens, i, "{")) i = after_bracket(tokens, i) - 1;
    if (!is(tokens, i, "template") || !is(tokens, i + 1, "<")) continue;
    std::size_t name = after_template(tokens, i + 1);
    if (!is_class(name)) continue;
    name += is(tokens, name + 1, "metal") ? 4 : 1;
    if (!is(tokens, name + 1, "<") || own.count(tokens[name].text) > 0) continue;
    std::size_t body = after_template(tokens, name + 1);
    while (body < tokens.size() && tokens[body].text != "{") ++body;
    const std::size_t end = after_bracket(tokens, body);
    if (!is(tokens, end, ";")) continue;
    edits.replace(tokens[i].text, "}} using namespace kernel_text; template");
    edits.replace(tokens[end].text, "; namespace kernel_text { namespace {");
    i = end;
  }
}

void rewrite_swizzles(const std::vector<Token>& tokens, TextEdits& edits) {
  std::set<std::string_view> own;  // names of the text
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    if (!follows_member_access(tokens, i)) own.insert(tokens[i].text);
  }
  for (std::size_t i = 2; i + 1 < tokens.size(); ++i) {
    if (!follows_member_access(tokens, i) || is(tokens, i + 1, "(")) continue;
    const std::string lanes = swizzled(tokens[i].text);
    if (lanes.empty() || own.count(tokens[i].text) > 0) continue;
    const std::string name = is_assignment(tokens, i + 1) ? "lanes" : "swizzle";
    edits.replace(tokens[i].text, "template " + name + "<" + lanes + ">()");
  }
}

namespace {

bool is_apples(std::string_view word) {
  return word.starts_with("__metal_") || word.starts_with("__METAL_");
}

// Finds functions at namespace scope, and what is in them.
class Functions {
 public:
  explicit Functions(Tokens tokens) : tokens_(tokens) {}

  // Calls found(declaration, its name, whether it lies in namespace metal).
  template <class Found>
  void each(const Found& found) {
    read(0, tokens_.size(), false, found);
  }

 private:
  template <class Found>
  void read(std::size_t at, std::size_t end, bool in_metal, const Found& found) {
    std::size_t begin = at;  // of the current declaration
    std::string_view name;
    for (; at < end; ++at) {
      const std::string_view text = tokens_[at].text;
      const std::size_t after = opens(text) ? std::min(after_bracket(tokens_, at), end) : at + 1;
      if (text == "(" && at > begin && tokens_[at - 1].text != "__attribute__") {
        name = tokens_[at - 1].text;
      }
      if (text == "{" && is(tokens_, begin, "namespace")) {
        read(at + 1, after - 1, in_metal || is(tokens_, begin + 1, "metal"), found);
      } else if (text == "{" && !name.empty()) {
        found(tokens_.subspan(begin, after - begin), name, in_metal);
      }
      at = after - 1;
      if (text == ";" || text == "{") {
        begin = after;
        name = {};
      }
    }
  }

  Tokens tokens_;
};

}  // namespace

std::vector<std::string_view> wrapper_parts(const std::vector<Token>& tokens) {
  std::vector<std::string_view> parts;
  Functions(tokens).each([&](Tokens function, std::string_view name, bool in_metal) {
    if (std::none_of(function.begin(), function.end(),
                     [](const Token& token) { return is_apples(token.text); })) {
      return;
    }
    const auto mentions = std::count_if(tokens.begin(), tokens.end(),
                                        [&](const Token& token) { return token.text == name; });
    if (in_metal || mentions == 1) parts.push_back(source_of(function));
  });
  return parts;
}

}  // namespace hearth::gpu
