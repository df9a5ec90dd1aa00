// Expressions of templates, by the grammar of jinja2: from the loosest,
//   x if y else z, or, and, not, comparisons, + -, ~, * / // %, **, signs, . [] () | is
#pragma once

#include "models/chat_template/syntax.h"
#include "models/chat_template/token_stream.h"

namespace hearth::models::chat_template {

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  // Without `takes_condition`, an `if` ends the expression.
  ExpressionPtr parse(bool takes_condition = true);
  // One expression, or several with commas: a tuple.
  ExpressionPtr parse_tuple(bool takes_condition = true);
  // `name(arguments) | ...` around `of`, which may be null.
  ExpressionPtr parse_filters(ExpressionPtr of);
  // What follows a value: attributes, items and calls.
  ExpressionPtr parse_postfix(ExpressionPtr of);
  ExpressionPtr parse_primary();

  // How often these names were read: macros that do not use them refuse what they hold.
  struct Mentions {
    int varargs = 0, kwargs = 0, caller = 0;
  };
  const Mentions& mentions() const { return mentions_; }

 private:
  class Nested;

  ExpressionPtr make(ExpressionKind kind, int line) const;
  // Throws where the tree is too high.
  ExpressionPtr checked(ExpressionPtr made) const;
  ExpressionPtr make_of(ExpressionKind kind, int line, ExpressionPtr first,
                        ExpressionPtr second = nullptr) const;

  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  std::string take_comparison();
  ExpressionPtr parse_binary(int level);
  ExpressionPtr parse_concat();
  ExpressionPtr parse_unary(bool takes_filters = true);
  ExpressionPtr parse_suffixes(ExpressionPtr of);
  ExpressionPtr parse_test(ExpressionPtr of);
  ExpressionPtr parse_subscript(ExpressionPtr of);
  ExpressionPtr parse_call(ExpressionPtr of);
  CallArguments parse_arguments();
  ExpressionPtr parse_literal();
  ExpressionPtr parse_parentheses();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  bool ends_tuple() const;

  TokenStream& tokens_;
  Mentions mentions_;
  int depth_ = 0;
};

}  // namespace hearth::models::chat_template
