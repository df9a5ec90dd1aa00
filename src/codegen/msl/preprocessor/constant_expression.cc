#include "codegen/msl/preprocessor/constant_expression.h"

#include <array>
#include <charconv>
#include <limits>
#include <string>

namespace hearth::gpu {
namespace {

// Deeper nesting is no condition that anybody writes.
constexpr int kMaxDepth = 200;

struct Operator {
  std::string_view text;
  int precedence;  // higher binds closer
};
// Longer ones before those that they begin with.
constexpr std::array<Operator, 18> kOperators{{{"||", 1},
                                               {"&&", 2},
                                               {"==", 6},
                                               {"!=", 6},
                                               {"<=", 7},
                                               {">=", 7},
                                               {"<<", 8},
                                               {">>", 8},
                                               {"|", 3},
                                               {"^", 4},
                                               {"&", 5},
                                               {"<", 7},
                                               {">", 7},
                                               {"+", 9},
                                               {"-", 9},
                                               {"*", 10},
                                               {"/", 10},
                                               {"%", 10}}};

using Value = std::optional<std::int64_t>;

// Wraps around, as unsigned arithmetic does.
Value apply(std::string_view what, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const auto wrapped = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  if (what == "==") return a == b;
  if (what == "!=") return a != b;
  if (what == "<=") return a <= b;
  if (what == ">=") return a >= b;
  if (what == "<<") return wrapped(x << (y & 63u));
  if (what == ">>") return a >> (y & 63u);
  if (what == "|") return wrapped(x | y);
  if (what == "^") return wrapped(x ^ y);
  if (what == "&") return wrapped(x & y);
  if (what == "<") return a < b;
  if (what == ">") return a > b;
  if (what == "+") return wrapped(x + y);
  if (what == "-") return wrapped(x - y);
  if (what == "*") return wrapped(x * y);
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return {};
  return what == "/" ? a / b : a % b;
}

class Reader {
 public:
  Reader(std::span<const Token> tokens, const NameValue& value) : tokens_(tokens), value_(value) {}
  Value whole() {
    const Value value = choice();
    return next_ == tokens_.size() ? value : Value();
  }

 private:
  bool at(std::string_view text) const {
    return next_ < tokens_.size() && tokens_[next_].text == text;
  }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    ++next_;
    return true;
  }
  // An operator is one token for each of its characters, which stand side by side.
  const Operator* take_operator(int least) {
    for (const Operator& known : kOperators) {
      if (next_ + known.text.size() > tokens_.size()) continue;
      bool same = true;
      for (std::size_t i = 0; i < known.text.size(); ++i) {
        same = same && tokens_[next_ + i].text == known.text.substr(i, 1);
      }
      if (!same) continue;
      if (known.precedence < least) return nullptr;
      next_ += known.text.size();
      return &known;
    }
    return nullptr;
  }

  Value choice() {
    if (++depth_ > kMaxDepth) return fail();
    Value value = binary(1);
    if (take("?")) {
      const Value yes = choice();
      if (!take(":")) return fail();
      const Value no = choice();
      if (value) value = *value != 0 ? yes : no;
    }
    --depth_;
    return value;
  }
  Value binary(int least) {
    Value left = unary();
    while (const Operator* found = take_operator(least)) {
      const Value right = binary(found->precedence + 1);
      if (found->text == "||" || found->text == "&&") {
        const bool decides = found->text == "||";
        if (left && (*left != 0) == decides) {
          left = decides ? 1 : 0;
        } else {
          left = left && right ? Value(*right != 0 ? 1 : 0) : Value();
        }
      } else {
        left = left && right ? apply(found->text, *left, *right) : Value();
      }
    }
    return left;
  }
  Value unary() {
    if (++depth_ > kMaxDepth) return fail();
    Value value;
    if (take("!")) {
      value = unary();
      if (value) value = *value == 0 ? 1 : 0;
    } else if (take("-")) {
      value = unary();
      if (value) value = apply("-", 0, *value);
    } else if (take("~")) {
      value = unary();
      if (value) value = ~*value;
    } else if (take("+")) {
      value = unary();
    } else {
      value = primary();
    }
    --depth_;
    return value;
  }
  Value primary() {
    if (take("(")) {
      const Value value = choice();
      return take(")") ? value : fail();
    }
    if (next_ >= tokens_.size()) return fail();
    const Token& token = tokens_[next_++];
    if (token.text == "true") return 1;
    if (token.text == "false") return 0;
    if (token.kind == TokenKind::number) return number(token.text);
    if (token.kind == TokenKind::word) return value_(token.text);
    return fail();
  }
  Value number(std::string_view text) {
    while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) {
      text.remove_suffix(1);
    }
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
      const bool hex = text[1] == 'x' || text[1] == 'X';
      const bool binary = text[1] == 'b' || text[1] == 'B';
      base = hex ? 16 : binary ? 2 : 8;
      text.remove_prefix(hex || binary ? 2 : 1);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return fail();
    return static_cast<std::int64_t>(value);
  }
  Value fail() {
    next_ = tokens_.size() + 1;  // whole() sees it
    return {};
  }

  std::span<const Token> tokens_;
  const NameValue& value_;
  std::size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> evaluate(std::span<const Token> expression, const NameValue& value) {
  return Reader(expression, value).whole();
}

}  // namespace hearth::gpu
