#include "codegen/msl/address_spaces.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/msl/token_runs.h"

namespace hearth::gpu {
namespace {

bool is_space(std::string_view word) {
  return word == "thread" || word == "device" || word == "threadgroup" || word == "constant";
}

class Eraser {
 public:
  Eraser(const std::vector<Token>& tokens, TextEdits& edits) : tokens_(tokens), edits_(edits) {}

  void run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) member_space(i);
    const_twice();
    std::size_t at = 0;
    while (at < tokens_.size()) at = declaration(at, "");
  }

 private:
  bool is(std::size_t at, std::string_view text) const { return gpu::is(tokens_, at, text); }

  // void f() const thread {...}
  void member_space(std::size_t at) {
    if (!is_space(tokens_[at].text) || at < 2) return;
    const bool behind =
        is(at - 1, ")") || ((is(at - 1, "const") || is(at - 1, "noexcept")) && is(at - 2, ")"));
    const bool ends = is(at + 1, "{") || is(at + 1, ":") || is(at + 1, "=") || is(at + 1, ";") ||
                      is(at + 1, "const");
    if (behind && ends) edits_.replace(tokens_[at].text, "");
  }

  void const_twice() {
    for (std::size_t i = 0; i < tokens_.size();) {
      std::size_t end = i;
      std::size_t space = tokens_.size();
      bool is_const = false;
      for (; end < tokens_.size() && tokens_[end].kind == TokenKind::word; ++end) {
        is_const |= tokens_[end].text == "const";
        if (tokens_[end].text == "constant") space = end;
      }
      if (is_const && space != tokens_.size()) edits_.replace(tokens_[space].text, "");
      i = end + 1;
    }
  }

  // What tells a declaration from others, from `begin` on: its tokens without address spaces.
  std::string signature(std::size_t begin, std::size_t end) const {
    std::string made;
    bool is_const = false;
    for (std::size_t i = begin; i < end; ++i) {
      const std::string_view text = tokens_[i].text;
      const bool member = is_space(text) && i > begin &&
                          (is(i - 1, ")") || (is(i - 1, "const") && i > 1 && is(i - 2, ")")));
      if (text == "const" || (text == "constant" && !member)) {
        if (!is_const) made += "const ";
        is_const = true;
        continue;
      }
      if (is_space(text)) continue;
      if (tokens_[i].kind != TokenKind::word) is_const = false;
      made += text;
      made += ' ';
    }
    return made;
  }

  // Reads the declaration at `at` of the scope with this name; where the next one begins.
  std::size_t declaration(std::size_t at, const std::string& scope) {
    const std::size_t begin = at;
    bool is_scope = false, has_call = false, has_value = false;
    std::size_t head = 0;  // its end: what follows says nothing of its type
    for (int angles = 0; at < tokens_.size();) {
      const std::string_view text = tokens_[at].text;
      if (text == "}") return at + 1;
      if (text == ";") break;
      if (text == "<") ++angles;
      if (text == ">") --angles;
      if (angles <= 0) {
        is_scope |= !has_call && (text == "struct" || text == "class" || text == "union" ||
                                  text == "namespace" || text == "extern");
        const bool is_value = text == "=" && !has_operator(at);
        has_value |= is_value;
        if (head == 0 && has_call && text == ":") head = at;
        if (is_value && head == 0) head = at;
      }
      if (text == "{") {
        if (head != 0 && is_initializer(at)) {
          at = after_bracket(tokens_, at);
          continue;
        }
        break;
      }
      if (text == "(" || text == "[") {
        has_call |= text == "(" && !is(at - 1, "alignas");
        at = after_bracket(tokens_, at);
      } else {
        ++at;
      }
    }
    if (at >= tokens_.size()) return at;
    if (head == 0) head = at;
    const std::string key = scope + "|" + signature(begin, head);
    if (is(at, ";")) {
      const bool is_default = has_value && (is(at - 1, "default") || is(at - 1, "delete"));
      if (is_default && !seen_.insert(key).second) {
        edits_.replace(source_of(Tokens(tokens_).subspan(begin, at + 1 - begin)), "");
      }
      return at + 1;
    }
    std::size_t end = after_bracket(tokens_, at);
    const bool is_type = is_scope && !has_call;
    const bool named = is_type && !is(begin, "namespace") && is(end, ";");
    if (is_type && is(begin, "namespace")) {
      for (std::size_t next = at + 1; next + 1 < end;) next = declaration(next, key);
      return end;
    }
    if (!is_type && !has_call) return end;
    if (named) ++end;
    // Of types, specialisations alone can differ so: others have names of their own, or none.
    const bool may_repeat = !is_type || is(head - 1, ">");
    if (may_repeat && !seen_.insert(key).second) {
      edits_.replace(source_of(Tokens(tokens_).subspan(begin, end - begin)), "");
    } else if (is_type) {
      const std::string name = key + std::to_string(begin);
      for (std::size_t next = at + 1; next + 1 < end;) next = declaration(next, name);
    }
    return end;
  }

  // operator== and the like.
  bool has_operator(std::size_t at) const {
    for (std::size_t i = at; i > 0 && i + 3 > at; --i) {
      if (is(i - 1, "operator")) return true;
      if (tokens_[i - 1].kind != TokenKind::mark) return false;
    }
    return false;
  }

  // Of a member, before the body of a constructor: it follows a name.
  bool is_initializer(std::size_t at) const {
    return tokens_[at - 1].kind == TokenKind::word || is(at - 1, "=") || is(at - 1, ">");
  }

  const std::vector<Token>& tokens_;
  TextEdits& edits_;
  std::set<std::string> seen_;
};

}  // namespace

void erase_address_spaces(const std::vector<Token>& tokens, TextEdits& edits) {
  Eraser(tokens, edits).run();
}

}  // namespace hearth::gpu
