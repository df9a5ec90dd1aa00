// Expressions.
#include <algorithm>

#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/slices.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

bool holds(Context& context, const std::string& symbol, const Value& left, const Value& right) {
  if (symbol == "==") return equals(context, left, right);
  if (symbol == "!=") return !equals(context, left, right);
  if (symbol == "in") return contains(context, right, left);
  if (symbol == "not in") return !contains(context, right, left);
  const bool has_nan = (left.floating() != nullptr && *left.floating() != *left.floating()) ||
                       (right.floating() != nullptr && *right.floating() != *right.floating());
  const int order = compare(context, left, right);
  if (has_nan) return false;
  if (symbol == "<") return order < 0;
  if (symbol == "<=") return order <= 0;
  if (symbol == ">") return order > 0;
  return order >= 0;
}

}  // namespace

Value Interpreter::evaluate(const Expression& expression, const ScopePtr& scope) {
  const Context::Level level(context_);
  context_.set_line(expression.line);
  context_.charge_steps(1);
  const auto child = [&](std::size_t index) {
    return evaluate(*expression.children[index], scope);
  };
  switch (expression.kind) {
    case ExpressionKind::literal:
      return expression.value;
    case ExpressionKind::name:
      return evaluate_name(expression, scope);
    case ExpressionKind::list:
      return make_list(context_, evaluate_all(expression.children, scope));
    case ExpressionKind::tuple:
      return make_list(context_, evaluate_all(expression.children, scope), ListKind::tuple);
    case ExpressionKind::dict:
      return evaluate_dict(expression, scope);
    case ExpressionKind::negative:
    case ExpressionKind::positive:
      return signed_number(expression, scope);
    case ExpressionKind::logical_not:
      return !is_true(child(0));
    case ExpressionKind::logical_and: {
      Value left = child(0);
      return is_true(left) ? child(1) : left;
    }
    case ExpressionKind::logical_or: {
      Value left = child(0);
      return is_true(left) ? left : child(1);
    }
    case ExpressionKind::binary: {
      const Value left = child(0), right = child(1);
      context_.set_line(expression.line);
      return binary(expression.name, left, right);
    }
    case ExpressionKind::concat:
      return evaluate_concat(expression, scope);
    case ExpressionKind::comparison:
      return evaluate_comparison(expression, scope);
    case ExpressionKind::conditional:
      if (is_true(child(0))) return child(1);
      if (expression.children.size() == 3) return child(2);
      return make_undefined("the inline if has no else");
    case ExpressionKind::attribute: {
      const Value of = child(0);
      context_.set_line(expression.line);
      return attribute(of, expression.name);
    }
    case ExpressionKind::item: {
      const Value of = child(0), key = child(1);
      context_.set_line(expression.line);
      return item(of, key);
    }
    case ExpressionKind::slice:
      return evaluate_slice(expression, scope);
    case ExpressionKind::call:
      return evaluate_call(expression, scope);
    case ExpressionKind::filter:
      return evaluate_filter(expression, scope, nullptr);
    case ExpressionKind::test: {
      const Value of = child(0);
      Arguments arguments = evaluate_arguments(expression.arguments, scope);
      context_.set_line(expression.line);
      return apply_test(expression.name, of, arguments);
    }
  }
  context_.fail("an unknown expression");
}

Value Interpreter::evaluate_name(const Expression& expression, const ScopePtr& scope) {
  for (Scope* at = scope.get(); at != nullptr; at = at->outer.get()) {
    context_.charge_steps(at->variables.size() / 32);
    if (const Value* found = at->find(expression.name)) return *found;
  }
  return make_undefined(hearth::quoted(expression.name, 60) + " is undefined");
}

Value Interpreter::evaluate_dict(const Expression& expression, const ScopePtr& scope) {
  Dict dict;
  for (std::size_t i = 0; i < expression.children.size(); i += 2) {
    Value key = evaluate(*expression.children[i], scope);
    Value value = evaluate(*expression.children[i + 1], scope);
    dict.set(context_, std::move(key), std::move(value));
  }
  return make_dict(context_, std::move(dict));
}

Value Interpreter::evaluate_comparison(const Expression& expression, const ScopePtr& scope) {
  Value left = evaluate(*expression.children[0], scope);
  for (std::size_t i = 0; i < expression.names.size(); ++i) {
    Value right = evaluate(*expression.children[i + 1], scope);
    context_.set_line(expression.line);
    if (!holds(context_, expression.names[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::evaluate_concat(const Expression& expression, const ScopePtr& scope) {
  MarkedText out;
  for (const ExpressionPtr& child : expression.children) {
    const Text text = printed_text(context_, evaluate(*child, scope));
    context_.charge_bytes(text->weight());
    out.append(*text);
  }
  return make_text(context_, std::move(out));
}

Value Interpreter::evaluate_slice(const Expression& expression, const ScopePtr& scope) {
  const Value of = evaluate(*expression.children[0], scope);
  SliceBounds bounds;
  std::optional<std::int64_t>* const places[] = {&bounds.begin, &bounds.end, &bounds.step};
  for (std::size_t i = 0; i < 3; ++i) {
    const ExpressionPtr& part = expression.children[i + 1];
    if (part == nullptr) continue;
    const Value value = evaluate(*part, scope);
    if (value.is_none()) continue;
    if (!value.is_integer()) {
      context_.fail(std::string("a bound of a slice is no integer; got ") + type_name(value) +
                    ", expected an integer or none");
    }
    *places[i] = value.integer();
  }
  context_.set_line(expression.line);
  return sliced(context_, of, bounds);
}

Values Interpreter::evaluate_all(const std::vector<ExpressionPtr>& expressions,
                                 const ScopePtr& scope) {
  Values out;
  out.reserve(expressions.size());
  for (const ExpressionPtr& each : expressions) out.push_back(evaluate(*each, scope));
  return out;
}

Arguments Interpreter::evaluate_arguments(const CallArguments& arguments, const ScopePtr& scope) {
  Arguments out;
  out.positional = evaluate_all(arguments.positional, scope);
  for (const auto& [name, value] : arguments.named) {
    out.named.emplace_back(name, evaluate(*value, scope));
  }
  if (arguments.rest != nullptr) {
    const auto rest = elements(context_, evaluate(*arguments.rest, scope));
    context_.charge_bytes(rest->items.size() * sizeof(Value));
    out.positional.insert(out.positional.end(), rest->items.begin(), rest->items.end());
  }
  if (arguments.named_rest != nullptr) {
    const Value rest = evaluate(*arguments.named_rest, scope);
    if (rest.dict() == nullptr) {
      context_.fail(std::string("what ** takes is no dict; got ") + type_name(rest) +
                    ", expected a dict");
    }
    for (const auto& [key, value] : rest.dict()->entries()) {
      if (key.text() == nullptr) {
        context_.fail(std::string("a key is no name of an argument; got ") + type_name(key) +
                      ", expected a text");
      }
      out.named.emplace_back(key.text()->view(), value);
    }
  }
  return out;
}

Value Interpreter::evaluate_call(const Expression& expression, const ScopePtr& scope) {
  const Expression& called = *expression.children[0];
  Value callee;
  if (called.kind == ExpressionKind::attribute) {
    const Value of = evaluate(*called.children[0], scope);
    context_.set_line(called.line);
    context_.charge_steps(1);
    callee = attribute(of, called.name);
    if (const auto* missing = std::get_if<Undefined>(&callee)) {
      fail_call(*missing, expected_method(of, called.name));
    }
  } else {
    callee = evaluate(called, scope);
  }
  Arguments arguments = evaluate_arguments(expression.arguments, scope);
  context_.set_line(expression.line);
  return call(callee, arguments);
}

Value Interpreter::evaluate_filter(const Expression& expression, const ScopePtr& scope,
                                   const Value* text) {
  Value of;
  if (expression.children[0] == nullptr) {
    of = *text;
  } else if (expression.children[0]->kind == ExpressionKind::filter) {
    of = evaluate_filter(*expression.children[0], scope, text);
  } else {
    of = evaluate(*expression.children[0], scope);
  }
  Arguments arguments = evaluate_arguments(expression.arguments, scope);
  context_.set_line(expression.line);
  context_.charge_steps(1);
  return apply_filter(expression.name, of, arguments);
}

void Interpreter::fail_call(const Undefined& callee, const std::string& expected) const {
  context_.fail("what is called is not there; " +
                (callee.what == nullptr ? std::string("it is undefined") : *callee.what) +
                expected);
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  const Context::Level level(context_);
  context_.charge_steps(1);
  if (const auto* undefined = std::get_if<Undefined>(&callee)) {
    fail_call(*undefined, "");
  }
  if (callee.loop() != nullptr) {
    const auto loop = std::get<std::shared_ptr<Loop>>(callee);
    if (!loop->descend) {
      context_.fail("a loop is called that is not recursive; expected {% for ... recursive %}");
    }
    arguments.function = "loop";
    return loop->descend(*this, Bound(context_, arguments, {"iterable"}, 1).value(0));
  }
  const auto* held = std::get_if<std::shared_ptr<const Callable>>(&callee);
  if (held == nullptr) {
    context_.fail(std::string("what is called is no function; got ") + type_name(callee) +
                  ", expected a function, a method or a macro");
  }
  const std::shared_ptr<const Callable> function = *held;
  arguments.function = function->name;
  return function->call(*this, arguments);
}

Value Interpreter::apply_filter(std::string_view name, const Value& value, Arguments& arguments) {
  charge_walk(context_, value);
  arguments.function = name;
  if (const Filter filter = find_filter(name)) return filter(*this, value, arguments);
  context_.fail("an unknown filter; got " + hearth::quoted(name, 40) + expected_filter(name));
}

bool Interpreter::apply_test(std::string_view name, const Value& value, Arguments& arguments) {
  const Test test = find_test(name);
  if (test == nullptr) {
    context_.fail("an unknown test; got " + hearth::quoted(name, 40) + expected_test(name));
  }
  arguments.function = name;
  if (name == "lower" || name == "upper") charge_walk(context_, value);
  return test(*this, value, arguments);
}

}  // namespace hearth::models::chat_template
