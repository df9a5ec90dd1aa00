// The tokens that a parser reads.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quoted.h"
#include "models/chat_template/context.h"
#include "models/chat_template/lexer.h"

namespace hearth::models::chat_template {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  int line() const { return current().line; }
  // The one behind the current; the last stays the last.
  const Token& following() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token take() {
    Token token = current();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_symbol(std::string_view text) const {
    return is(TokenKind::symbol) && current().text == text;
  }
  bool is_name(std::string_view text) const {
    return is(TokenKind::name) && current().text == text;
  }
  bool skip_symbol(std::string_view text) { return is_symbol(text) && (take(), true); }
  bool skip_name(std::string_view text) { return is_name(text) && (take(), true); }

  void expect_symbol(std::string_view text) {
    if (!skip_symbol(text)) fail_unexpected("'" + std::string(text) + "'");
  }
  void expect_name(std::string_view text) {
    if (!skip_name(text)) fail_unexpected("'" + std::string(text) + "'");
  }
  std::string expect_name() {
    if (!is(TokenKind::name)) fail_unexpected("a name");
    return take().text;
  }
  void expect(TokenKind kind, const char* what) {
    if (!is(kind)) fail_unexpected(what);
    take();
  }

  [[noreturn]] void fail_unexpected(const std::string& expected) const {
    fail_at(line(), "unexpected syntax; got " + described() + ", expected " + expected);
  }

 private:
  std::string described() const {
    switch (current().kind) {
      case TokenKind::end:
        return "the end of the template";
      case TokenKind::block_end:
        return "the end of the block";
      case TokenKind::variable_end:
        return "the end of the variable";
      default:
        return hearth::quoted(current().text, 40);
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace hearth::models::chat_template
