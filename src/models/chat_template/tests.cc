// What may follow `is`.
#include <cmath>

#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value only_argument(Interpreter& interpreter, const Arguments& arguments) {
  return Bound(interpreter.context(), arguments, {"other"}, 1).value(0);
}

// What is left of the value, of the sign of `by` as Python has it.
double remainder_of(Interpreter& interpreter, const Value& value, const Value& by,
                    const char* test) {
  for (const Value* each : {&value, &by}) {
    if (each->is_number()) continue;
    interpreter.context().fail(std::string(test) + ": a value is no number; got " +
                               type_name(*each) + ", expected a number");
  }
  return interpreter.binary("%", value, by).number();
}

bool is_sequence(const Value& value) {
  if (value.list() != nullptr) return value.list()->kind <= ListKind::range;
  return value.is_undefined() || value.text() != nullptr || value.dict() != nullptr;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.text() != nullptr || value.dict() != nullptr ||
         value.list() != nullptr || value.loop() != nullptr;
}

// The same value, as far as it can be told.
bool is_same(Context& context, const Value& left, const Value& right) {
  if (left.index() != right.index()) return false;
  if (left.list() != nullptr) return left.list() == right.list();
  if (left.dict() != nullptr) return left.dict() == right.dict();
  return equals(context, left, right);
}

// Of any value, as it is printed.
bool is_all_of_case(Context& context, const Value& value, bool (*holds)(char32_t),
                    bool (*excludes)(char32_t)) {
  bool is_any = false;
  const Text text = printed_text(context, value);
  const std::string_view view = text->view();
  for (std::size_t at = 0; at < view.size(); at += character_at(view, at).size) {
    const char32_t code = character_at(view, at).code;
    if (excludes(code) || is_title(code)) return false;
    is_any = is_any || holds(code);
  }
  return is_any;
}

// Null for what is no text, and so no name. Lists and dicts, which cannot be keys, are refused.
const MarkedText* name_of(Interpreter& interpreter, const Value& value) {
  const bool is_list = value.list() != nullptr && value.list()->kind == ListKind::list;
  if (is_list || value.dict() != nullptr) {
    interpreter.context().fail(std::string("a value is no name; got ") + type_name(value) +
                               ", expected a text");
  }
  return value.text();
}

#define HEARTH_KIND_TEST(condition) \
  [](Interpreter&, const Value& value, const Arguments&) -> bool { return condition; }
#define HEARTH_ORDER_TEST(condition)                                                     \
  [](Interpreter& interpreter, const Value& value, const Arguments& arguments) -> bool { \
    const Value other = only_argument(interpreter, arguments);                           \
    Context& context = interpreter.context();                                            \
    return condition;                                                                    \
  }

constexpr Test kEqual = HEARTH_ORDER_TEST(equals(context, value, other));
constexpr Test kUnequal = HEARTH_ORDER_TEST(!equals(context, value, other));
constexpr Test kLess = HEARTH_ORDER_TEST(compare(context, value, other) < 0);
constexpr Test kLessOrEqual = HEARTH_ORDER_TEST(compare(context, value, other) <= 0);
constexpr Test kGreater = HEARTH_ORDER_TEST(compare(context, value, other) > 0);
constexpr Test kGreaterOrEqual = HEARTH_ORDER_TEST(compare(context, value, other) >= 0);

constexpr NamedTest kTests[] = {
    {"defined", HEARTH_KIND_TEST(!value.is_undefined())},
    {"undefined", HEARTH_KIND_TEST(value.is_undefined())},
    {"none", HEARTH_KIND_TEST(value.is_none())},
    {"boolean", HEARTH_KIND_TEST(value.boolean() != nullptr)},
    {"true", HEARTH_KIND_TEST(value.boolean() != nullptr && *value.boolean())},
    {"false", HEARTH_KIND_TEST(value.boolean() != nullptr && !*value.boolean())},
    {"integer", HEARTH_KIND_TEST((value.is_integer() && value.boolean() == nullptr) ||
                                 value.large_integer() != nullptr)},
    {"float", HEARTH_KIND_TEST(value.floating() != nullptr)},
    {"number", HEARTH_KIND_TEST(value.is_number() || value.large_integer() != nullptr)},
    {"string", HEARTH_KIND_TEST(value.text() != nullptr)},
    {"mapping", HEARTH_KIND_TEST(value.dict() != nullptr)},
    {"sequence", HEARTH_KIND_TEST(is_sequence(value))},
    {"iterable", HEARTH_KIND_TEST(is_iterable(value))},
    {"callable", HEARTH_KIND_TEST(value.callable() != nullptr || value.loop() != nullptr ||
                                  value.is_undefined())},
    {"escaped", HEARTH_KIND_TEST(value.text() != nullptr && value.text()->is_markup)},
    {"lower",
     [](Interpreter& interpreter, const Value& value, const Arguments&) {
       return is_all_of_case(interpreter.context(), value, is_lower, is_upper);
     }},
    {"upper",
     [](Interpreter& interpreter, const Value& value, const Arguments&) {
       return is_all_of_case(interpreter.context(), value, is_upper, is_lower);
     }},
    {"sameas", HEARTH_ORDER_TEST(is_same(context, value, other))},
    {"in", HEARTH_ORDER_TEST(contains(context, other, value))},
    {"odd",
     [](Interpreter& interpreter, const Value& value, const Arguments&) {
       return remainder_of(interpreter, value, std::int64_t{2}, "odd") == 1;
     }},
    {"even",
     [](Interpreter& interpreter, const Value& value, const Arguments&) {
       return remainder_of(interpreter, value, std::int64_t{2}, "even") == 0;
     }},
    {"divisibleby",
     [](Interpreter& interpreter, const Value& value, const Arguments& arguments) {
       const Value by = only_argument(interpreter, arguments);
       return remainder_of(interpreter, value, by, "divisibleby") == 0;
     }},
    {"eq", kEqual},
    {"==", kEqual},
    {"equalto", kEqual},
    {"ne", kUnequal},
    {"!=", kUnequal},
    {"lt", kLess},
    {"<", kLess},
    {"lessthan", kLess},
    {"le", kLessOrEqual},
    {"<=", kLessOrEqual},
    {"gt", kGreater},
    {">", kGreater},
    {"greaterthan", kGreater},
    {"ge", kGreaterOrEqual},
    {">=", kGreaterOrEqual},
    {"filter",
     [](Interpreter& interpreter, const Value& value, const Arguments&) {
       const MarkedText* wanted = name_of(interpreter, value);
       return wanted != nullptr && find_filter(wanted->view()) != nullptr;
     }},
    {"test",
     [](Interpreter& interpreter, const Value& value, const Arguments&) {
       const MarkedText* wanted = name_of(interpreter, value);
       return wanted != nullptr && find_test(wanted->view()) != nullptr;
     }},
};

#undef HEARTH_KIND_TEST
#undef HEARTH_ORDER_TEST

}  // namespace

std::span<const NamedTest> all_tests() { return kTests; }

}  // namespace hearth::models::chat_template
