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
constexpr int kBitAnd = 5;
constexpr int kShift = 8;
// Longer ones before those that they begin with.
constexpr std::array<Operator, 18> kOperators{{{"||", 1},
                                               {"&&", 2},
                                               {"==", 6},
                                               {"!=", 6},
                                               {"<=", 7},
                                               {">=", 7},
                                               {"<<", kShift},
                                               {">>", kShift},
                                               {"|", 3},
                                               {"^", 4},
                                               {"&", kBitAnd},
                                               {"<", 7},
                                               {">", 7},
                                               {"+", 9},
                                               {"-", 9},
                                               {"*", 10},
                                               {"/", 10},
                                               {"%", 10}}};

// As intmax_t and uintmax_t, which C's preprocessor computes with. What is not known has a type
// too: it decides that of a choice's other branch.
struct Value {
  std::uint64_t bits = 0;
  bool is_unsigned = false;
  bool known = true;
  std::int64_t number() const { return static_cast<std::int64_t>(bits); }
  bool holds() const { return known && bits != 0; }
};

Value number_of(std::int64_t number) { return {static_cast<std::uint64_t>(number), false, true}; }
Value truth(bool value) { return number_of(value ? 1 : 0); }

// Both are known. Signed arithmetic wraps around.
Value apply(std::string_view what, Value a, Value b) {
  const std::uint64_t x = a.bits, y = b.bits;
  // A shift has the type of what is shifted.
  if (what == "<<") return {x << (y & 63u), a.is_unsigned};
  if (what == ">>" && a.is_unsigned) return {x >> (y & 63u), true};
  if (what == ">>") return number_of(a.number() >> (y & 63u));
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const bool less = is_unsigned ? x < y : a.number() < b.number();
  if (what == "==") return truth(x == y);
  if (what == "!=") return truth(x != y);
  if (what == "<") return truth(less);
  if (what == ">=") return truth(!less);
  if (what == ">") return truth(!less && x != y);
  if (what == "<=") return truth(less || x == y);
  if (what == "|") return {x | y, is_unsigned};
  if (what == "^") return {x ^ y, is_unsigned};
  if (what == "&") return {x & y, is_unsigned};
  if (what == "+") return {x + y, is_unsigned};
  if (what == "-") return {x - y, is_unsigned};
  if (what == "*") return {x * y, is_unsigned};
  const bool overflows =
      !is_unsigned && b.number() == -1 && a.number() == std::numeric_limits<std::int64_t>::min();
  if (y == 0 || overflows) return {0, is_unsigned, false};
  if (is_unsigned) return {what == "/" ? x / y : x % y, true};
  return number_of(what == "/" ? a.number() / b.number() : a.number() % b.number());
}

// Takes u, l and ll off the end of a literal, in either order and case; whether there is a u. What
// is no suffix stays.
bool take_suffix(std::string_view& text) {
  const auto take = [&text](std::string_view lower, std::string_view upper) {
    if (!text.ends_with(lower) && !text.ends_with(upper)) return false;
    text.remove_suffix(lower.size());
    return true;
  };
  const bool last = take("u", "U");
  const bool is_long = take("ll", "LL") || take("l", "L");
  return last || (is_long && take("u", "U"));
}

class Reader {
 public:
  Reader(std::span<const Token> tokens, const NameValue& value) : tokens_(tokens), value_(value) {}
  std::optional<std::int64_t> whole() {
    const Value value = choice();
    if (!value.known || next_ != tokens_.size()) return std::nullopt;
    return value.number();
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
      const bool is_unsigned = yes.is_unsigned || no.is_unsigned;
      if (value.known) value = value.holds() ? yes : no;
      value.is_unsigned = is_unsigned;
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
        if (left.known && left.holds() == decides) {
          left = truth(decides);
        } else {
          left = left.known && right.known ? truth(right.holds()) : unknown(false);
        }
      } else if (left.known && right.known) {
        left = apply(found->text, left, right);
      } else {
        const bool shifts = found->precedence == kShift;
        const bool compares = found->precedence < kShift && found->precedence > kBitAnd;
        left = unknown(!compares && (left.is_unsigned || (!shifts && right.is_unsigned)));
      }
    }
    return left;
  }
  Value unary() {
    if (++depth_ > kMaxDepth) return fail();
    Value value;
    if (take("!")) {
      value = unary();
      value = value.known ? truth(!value.holds()) : unknown(false);
    } else if (take("-")) {
      value = unary();
      value.bits = 0 - value.bits;
    } else if (take("~")) {
      value = unary();
      value.bits = ~value.bits;
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
    if (token.text == "true") return truth(true);
    if (token.text == "false") return truth(false);
    if (token.kind == TokenKind::number) return literal(token.text);
    if (token.kind != TokenKind::word) return fail();
    const std::optional<std::int64_t> value = value_(token.text);
    return value ? number_of(*value) : unknown(false);
  }
  Value literal(std::string_view text) {
    const bool is_unsigned = take_suffix(text);
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
    return {value, is_unsigned || value >> 63 != 0};
  }
  static Value unknown(bool is_unsigned) { return {0, is_unsigned, false}; }
  Value fail() {
    next_ = tokens_.size() + 1;  // whole() sees it
    return unknown(false);
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
