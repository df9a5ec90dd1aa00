// Statements.
#include <algorithm>

#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

// An iteration makes a scope with the loop and its own names.
constexpr std::size_t kStepsOfIteration = 4;

ScopePtr inner_scope(const ScopePtr& outer) {
  auto scope = std::make_shared<Scope>();
  scope->outer = outer;
  return scope;
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& each : parameters) names.push_back(each.name);
  return names;
}

}  // namespace

Value* Scope::find(std::string_view name) {
  for (auto& [variable, value] : variables) {
    if (variable == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  if (Value* found = find(name)) {
    *found = std::move(value);
  } else {
    variables.emplace_back(name, std::move(value));
  }
}

Interpreter::Interpreter(const Limits& limits, LocalTime now)
    : context_(limits), now_(now), globals_(std::make_shared<Scope>()) {
  globals_->variables = global_functions();
  globals_ = inner_scope(globals_);
}

Interpreter::~Interpreter() {
  for (const auto& space : kept_namespaces_) space->members.clear();
  for (const auto& loop : kept_loops_) loop->last_changed = Undefined{};
  for (const auto& scope : kept_scopes_) scope->variables.clear();
}

void Interpreter::set_variable(const std::string& name, Value value) {
  globals_->set(name, std::move(value));
}

MarkedText Interpreter::run(const Statements& statements) {
  MarkedText out;
  execute(statements, inner_scope(globals_), out);
  return out;
}

Value Interpreter::make_namespace(std::vector<std::pair<std::string, Value>> members) {
  context_.charge_bytes(sizeof(Namespace) + 64 + members.size() * sizeof(Value));
  auto space = std::make_shared<Namespace>();
  space->members = std::move(members);
  kept_namespaces_.push_back(space);
  return space;
}

Interpreter::Flow Interpreter::execute(const Statements& statements, const ScopePtr& scope,
                                       MarkedText& out) {
  for (const Statement& each : statements) {
    if (const Flow flow = execute(each, scope, out); flow != Flow::on) return flow;
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, const ScopePtr& scope,
                                       MarkedText& out) {
  const Context::Level level(context_);
  context_.set_line(statement.line);
  context_.charge_steps(1);
  switch (statement.kind) {
    case StatementKind::data:
      print(statement.value, out);
      return Flow::on;
    case StatementKind::output:
      print(evaluate(*statement.expressions[0], scope), out);
      return Flow::on;
    case StatementKind::if_chain:
      return execute_if(statement, scope, out);
    case StatementKind::for_loop:
      return execute_for(statement, scope, out);
    case StatementKind::assign: {
      const Value value = evaluate(*statement.expressions[0], scope);
      context_.set_line(statement.line);
      assign(statement.target, value, *scope);
      return Flow::on;
    }
    case StatementKind::assign_block: {
      Value value = make_text(context_, captured(statement.body, scope));
      const ExpressionPtr& filters = statement.expressions[0];
      if (filters != nullptr) value = evaluate_filter(*filters, scope, &value);
      context_.set_line(statement.line);
      assign(statement.target, value, *scope);
      return Flow::on;
    }
    case StatementKind::macro:
      scope->set(statement.name, make_macro(statement, scope, statement.name));
      return Flow::on;
    case StatementKind::call_block:
      execute_call_block(statement, scope, out);
      return Flow::on;
    case StatementKind::filter_block: {
      const Value text = make_text(context_, captured(statement.body, scope));
      print(evaluate_filter(*statement.expressions[0], scope, &text), out);
      return Flow::on;
    }
    case StatementKind::generation:
      return execute(statement.body, inner_scope(scope), out);
    case StatementKind::with_block: {
      const Values values = evaluate_all(statement.expressions, scope);
      const ScopePtr inner = inner_scope(scope);
      context_.set_line(statement.line);
      for (std::size_t i = 0; i < values.size(); ++i) {
        assign(statement.target.parts[i], values[i], *inner);
      }
      return execute(statement.body, inner, out);
    }
    case StatementKind::loop_break:
      return Flow::breaks;
    case StatementKind::loop_continue:
      return Flow::continues;
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::execute_if(const Statement& statement, const ScopePtr& scope,
                                          MarkedText& out) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition == nullptr || is_true(evaluate(*branch.condition, scope))) {
      return execute(branch.body, scope, out);
    }
  }
  return Flow::on;
}

Interpreter::Flow Interpreter::execute_for(const Statement& statement, const ScopePtr& scope,
                                           MarkedText& out) {
  const Value iterable = evaluate(*statement.expressions[0], scope);
  context_.set_line(statement.line);
  return execute_loop(statement, scope, iterable, 0, out);
}

Interpreter::Flow Interpreter::execute_loop(const Statement& statement, const ScopePtr& scope,
                                            const Value& iterable, std::int64_t depth,
                                            MarkedText& out) {
  auto loop = std::make_shared<Loop>();
  loop->depth = depth;
  if (statement.is_recursive) {
    loop->descend = [&statement, scope, depth](Interpreter& interpreter, const Value& children) {
      MarkedText text;
      interpreter.execute_loop(statement, scope, children, depth + 1, text);
      return make_text(interpreter.context(), std::move(text));
    };
  }
  loop->items = elements(context_, iterable);
  if (const ExpressionPtr& filter = statement.expressions[1]) {
    Values kept;
    for (const Value& item : loop->items->items) {
      const ScopePtr inner = inner_scope(scope);
      assign(statement.target, item, *inner);
      if (is_true(evaluate(*filter, inner))) kept.push_back(item);
    }
    loop->items = std::get<std::shared_ptr<const List>>(make_list(context_, std::move(kept)));
  }
  const auto items = loop->items;
  if (items->items.empty()) {
    if (!statement.other.empty()) return execute(statement.other, inner_scope(scope), out);
    return Flow::on;
  }
  for (; loop->index < items->items.size(); ++loop->index) {
    context_.set_line(statement.line);
    context_.charge_steps(kStepsOfIteration);
    const ScopePtr inner = inner_scope(scope);
    inner->set("loop", loop);
    assign(statement.target, items->items[loop->index], *inner);
    if (execute(statement.body, inner, out) == Flow::breaks) break;
  }
  return Flow::on;
}

void Interpreter::execute_call_block(const Statement& statement, const ScopePtr& scope,
                                     MarkedText& out) {
  const Expression& call_expression = *statement.expressions[0];
  const Value callee = evaluate(*call_expression.children[0], scope);
  Arguments arguments = evaluate_arguments(call_expression.arguments, scope);
  arguments.named.emplace_back("caller", make_macro(statement, scope, "caller"));
  context_.set_line(statement.line);
  print(call(callee, arguments), out);
}

void Interpreter::print(const Value& value, MarkedText& out) {
  const Text text = printed_text(context_, value);
  context_.charge_bytes(text->weight());
  out.append(*text);
  context_.check_output(out.size());
}

MarkedText Interpreter::captured(const Statements& statements, ScopePtr scope) {
  MarkedText out;
  execute(statements, inner_scope(scope), out);
  return out;
}

void Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
  if (!target.parts.empty()) {
    const auto items = elements(context_, value);
    if (items->items.size() != target.parts.size()) {
      context_.fail("values do not fit their names; got " + std::to_string(items->items.size()) +
                    ", expected " + std::to_string(target.parts.size()));
    }
    for (std::size_t i = 0; i < target.parts.size(); ++i) {
      assign(target.parts[i], items->items[i], scope);
    }
    return;
  }
  if (target.attribute.empty()) return scope.set(target.name, value);
  Value* found = nullptr;
  for (Scope* at = &scope; at != nullptr && found == nullptr; at = at->outer.get()) {
    found = at->find(target.name);
  }
  Namespace* space = found == nullptr ? nullptr : found->name_space();
  if (space == nullptr || space->is_cycler) {
    context_.fail("an attribute is set of what is no namespace; got " +
                  hearth::quoted(target.name, 60) +
                  ", expected a name that namespace() was set to");
  }
  if (Value* member = space->find(target.attribute)) {
    *member = value;
  } else {
    context_.charge_bytes(sizeof(Value) + target.attribute.size());
    space->members.emplace_back(target.attribute, value);
  }
}

Value Interpreter::make_macro(const Statement& statement, const ScopePtr& scope,
                              const std::string& name) {
  if (!scope->is_kept) {
    scope->is_kept = true;
    kept_scopes_.push_back(scope);
  }
  context_.charge_bytes(sizeof(Callable) + sizeof(Scope));
  Callable made;
  made.name = name;
  made.is_macro = true;
  made.call = [&statement, scope, name](Interpreter& interpreter, const Arguments& arguments) {
    return interpreter.run_macro(statement, scope, name, arguments);
  };
  return std::make_shared<const Callable>(std::move(made));
}

Value Interpreter::run_macro(const Statement& statement, const ScopePtr& scope,
                             const std::string& name, const Arguments& arguments) {
  const auto& parameters = statement.parameters;
  const ScopePtr inner = inner_scope(scope);
  const auto fail = [&](const std::string& what) {
    context_.fail("macro " + hearth::quoted(name, 60) + ": " + what);
  };
  const std::size_t count = std::min(arguments.positional.size(), parameters.size());
  for (std::size_t i = 0; i < count; ++i) {
    inner->set(parameters[i].name, arguments.positional[i]);
  }
  Dict named_rest;
  for (const auto& [key, value] : arguments.named) {
    const std::string& wanted = key;
    const bool is_parameter =
        std::any_of(parameters.begin(), parameters.end(),
                    [&](const Parameter& each) { return each.name == wanted; });
    if (is_parameter || (key == "caller" && statement.takes_caller)) {
      if (inner->find(key) != nullptr) {
        fail("an argument is given twice; got " + hearth::quoted(key, 60) + ", expected it once");
      }
      inner->set(key, value);
    } else if (statement.takes_named_rest) {
      named_rest.set(context_, make_text(context_, key), value);
    } else {
      fail("an unknown argument; got " + hearth::quoted(key, 60) +
           expected_names(names_of(parameters)));
    }
  }
  for (const Parameter& each : parameters) {
    if (inner->find(each.name) != nullptr) continue;
    inner->set(each.name, each.fallback != nullptr
                              ? evaluate(*each.fallback, inner)
                              : make_undefined("parameter " + hearth::quoted(each.name, 60) +
                                               " was not provided"));
  }
  if (arguments.positional.size() > parameters.size() && !statement.takes_rest) {
    fail("too many arguments; got " + std::to_string(arguments.positional.size()) +
         ", expected at most " + std::to_string(parameters.size()));
  }
  if (statement.takes_rest) {
    const auto rest = arguments.positional.begin() + static_cast<std::ptrdiff_t>(count);
    inner->set("varargs",
               make_list(context_, Values(rest, arguments.positional.end()), ListKind::tuple));
  }
  if (statement.takes_named_rest) {
    inner->set("kwargs", make_dict(context_, std::move(named_rest)));
  }
  if (statement.takes_caller && inner->find("caller") == nullptr) {
    inner->set("caller", make_undefined("no caller was provided"));
  }
  MarkedText out;
  execute(statement.body, inner, out);
  return make_text(context_, std::move(out));
}

}  // namespace hearth::models::chat_template
