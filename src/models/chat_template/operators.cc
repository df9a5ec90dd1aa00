// Arithmetic, as Python has it for integers of 64 bits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/chat_template/formats.h"
#include "models/chat_template/html.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

const char* operands_of(const std::string& symbol) {
  if (symbol == "+") return "two numbers, texts, lists or tuples";
  if (symbol == "*") return "two numbers, or an integer and a text, list or tuple";
  if (symbol == "%") return "two numbers, or a text and its values";
  return "two numbers";
}

[[noreturn]] void fail_operands(Context& context, const std::string& symbol, const Value& left,
                                const Value& right) {
  for (const Value* each : {&left, &right}) {
    const auto* undefined = std::get_if<Undefined>(each);
    if (undefined != nullptr && undefined->what != nullptr) context.fail(*undefined->what);
  }
  context.fail("values cannot be joined by " + symbol + "; got " + type_name(left) + " and " +
               type_name(right) + ", expected " + operands_of(symbol));
}

std::int64_t checked(Context& context, bool overflows, std::int64_t result) {
  if (overflows) context.fail("an integer is out of range; expected 64 bits");
  return result;
}

std::int64_t integer_power(Context& context, std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    const bool overflows = __builtin_mul_overflow(result, base, &result);
    result = checked(context, overflows, result);
  }
  return result;
}

std::int64_t floor_divided(std::int64_t left, std::int64_t right) {
  const std::int64_t quotient = left / right;
  return quotient - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
}

double floor_remainder(double left, double right) {
  const double rest = std::fmod(left, right);
  if (rest != 0) return (rest < 0) != (right < 0) ? rest + right : rest;
  return std::copysign(0.0, right);
}

Value integer_result(Context& context, const std::string& symbol, std::int64_t left,
                     std::int64_t right) {
  std::int64_t result = 0;
  if (symbol == "+") {
    const bool overflows = __builtin_add_overflow(left, right, &result);
    return checked(context, overflows, result);
  }
  if (symbol == "-") {
    const bool overflows = __builtin_sub_overflow(left, right, &result);
    return checked(context, overflows, result);
  }
  if (symbol == "*") {
    const bool overflows = __builtin_mul_overflow(left, right, &result);
    return checked(context, overflows, result);
  }
  if (symbol == "**") {
    if (right >= 0) return integer_power(context, left, right);
    if (left == 0) context.fail("0 has no negative power; expected one of at least 0");
    return std::pow(static_cast<double>(left), static_cast<double>(right));
  }
  if (right == 0) context.fail("a division by zero; expected another divisor");
  if (symbol == "/") return static_cast<double>(left) / static_cast<double>(right);
  const bool overflows = left == std::numeric_limits<std::int64_t>::min() && right == -1;
  if (symbol == "%")
    return right == -1 ? std::int64_t{0} : left - floor_divided(left, right) * right;
  checked(context, overflows, 0);
  return floor_divided(left, right);
}

Value float_result(Context& context, const std::string& symbol, double left, double right) {
  if (symbol == "+") return left + right;
  if (symbol == "-") return left - right;
  if (symbol == "*") return left * right;
  if (symbol == "**") {
    const double power = std::pow(left, right);
    if (std::isnan(power) || std::isinf(power)) {
      context.fail("a power has no finite value; got " + float_text(left) + " ** " +
                   float_text(right) + ", expected a finite one");
    }
    return power;
  }
  if (right == 0) context.fail("a division by zero; expected another divisor");
  if (symbol == "/") return left / right;
  if (symbol == "%") return floor_remainder(left, right);
  return std::floor(left / right);
}

// The count of a repetition whose result has `size` bytes or elements each.
std::size_t repetitions(Context& context, const Value& count, std::size_t size) {
  const std::int64_t times = std::max<std::int64_t>(0, count.integer());
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(times, static_cast<std::int64_t>(size), &bytes)) {
    bytes = std::numeric_limits<std::int64_t>::max();
  }
  context.charge_bytes(static_cast<std::size_t>(bytes));
  if (size == 0) return 0;
  context.charge_steps(static_cast<std::size_t>(times) / 16);
  return static_cast<std::size_t>(times);
}

Value repeated(Context& context, const Value& of, const Value& count) {
  if (const MarkedText* text = of.text()) {
    MarkedText out;
    const std::size_t times = repetitions(context, count, text->weight());
    out.reserve(times * text->size());
    for (std::size_t i = 0; i < times; ++i) out.append(*text);
    return make_text(context, std::move(out));
  }
  const List& list = *of.list();
  Values items;
  const std::size_t times = repetitions(context, count, list.items.size() * sizeof(Value));
  items.reserve(times * list.items.size());
  for (std::size_t i = 0; i < times; ++i) {
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return make_counted_list(context, std::move(items), list.kind);
}

bool repeats(const Value& value) {
  return value.text() != nullptr ||
         (value.list() != nullptr && value.list()->kind <= ListKind::tuple);
}

Value added_texts(Context& context, const MarkedText& left, const MarkedText& right) {
  context.charge_bytes(left.weight() + right.weight());
  MarkedText out;
  if (left.is_markup == right.is_markup) {
    out = left;
    out.append(right);
  } else {
    out = left.is_markup ? left : html_escaped(left);
    out.append(right.is_markup ? right : html_escaped(right));
    out.is_markup = true;
  }
  return make_text(context, std::move(out));
}

Value added_lists(Context& context, const List& left, const List& right) {
  Values items = reserved_values(context, left.items.size() + right.items.size());
  items.assign(left.items.begin(), left.items.end());
  items.insert(items.end(), right.items.begin(), right.items.end());
  return make_counted_list(context, std::move(items), left.kind);
}

}  // namespace

Value Interpreter::binary(const std::string& symbol, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) {
    if (left.is_integer() && right.is_integer()) {
      return integer_result(context_, symbol, left.integer(), right.integer());
    }
    return float_result(context_, symbol, left.number(), right.number());
  }
  const MarkedText *a = left.text(), *b = right.text();
  if (symbol == "+") {
    if (a != nullptr && b != nullptr) return added_texts(context_, *a, *b);
    const List *x = left.list(), *y = right.list();
    if (x != nullptr && y != nullptr && x->kind == y->kind && x->kind <= ListKind::tuple) {
      return added_lists(context_, *x, *y);
    }
  }
  if (symbol == "*" && repeats(left) && right.is_integer()) return repeated(context_, left, right);
  if (symbol == "*" && left.is_integer() && repeats(right)) return repeated(context_, right, left);
  if (symbol == "%" && a != nullptr) return printf_formatted(context_, *a, right);
  fail_operands(context_, symbol, left, right);
}

Value Interpreter::signed_number(const Expression& expression, const ScopePtr& scope) {
  const Value of = evaluate(*expression.children[0], scope);
  context_.set_line(expression.line);
  const bool is_negative = expression.kind == ExpressionKind::negative;
  if (const double* number = of.floating()) return is_negative ? -*number : *number;
  if (!of.is_integer()) {
    const auto* undefined = std::get_if<Undefined>(&of);
    if (undefined != nullptr && undefined->what != nullptr) context_.fail(*undefined->what);
    context_.fail(std::string("a sign before what is no number; got ") + type_name(of) +
                  ", expected a number");
  }
  return is_negative ? integer_result(context_, "-", 0, of.integer()) : Value(of.integer());
}

}  // namespace hearth::models::chat_template
