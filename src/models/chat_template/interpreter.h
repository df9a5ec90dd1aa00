// Runs parsed templates.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/chat_template/syntax.h"
#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

// Variables of one block, and the blocks around it.
struct Scope {
  std::shared_ptr<Scope> outer;
  std::vector<std::pair<std::string, Value>> variables;
  bool is_kept = false;

  Value* find(std::string_view name);
  void set(std::string_view name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

using LocalTime = std::chrono::local_seconds;

// One rendering. The template that it runs must outlive it. Not for two threads at once.
class Interpreter {
 public:
  Interpreter(const Limits& limits, LocalTime now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Sets what a template finds by name beside the functions of all templates.
  void set_variable(const std::string& name, Value value);
  MarkedText run(const Statements& statements);

  // ---- For functions, filters and tests

  Context& context() { return context_; }
  LocalTime now() const { return now_; }
  // `value.name` and `value[key]` as jinja2 has them: undefined where there is nothing.
  Value attribute(const Value& value, std::string_view name);
  Value item(const Value& value, const Value& key);
  // Each says in the arguments which function gets them.
  Value call(const Value& callee, Arguments& arguments);
  Value apply_filter(std::string_view name, const Value& value, Arguments& arguments);
  bool apply_test(std::string_view name, const Value& value, Arguments& arguments);
  // Keeps a namespace until the rendering ends: a chain of them is then freed link by link.
  Value make_namespace(std::vector<std::pair<std::string, Value>> members);
  // Keeps a loop in the same way.
  void keep(std::shared_ptr<Loop> loop) { kept_loops_.push_back(std::move(loop)); }
  Value binary(const std::string& symbol, const Value& left, const Value& right);

 private:
  enum class Flow { on, breaks, continues };

  Flow execute(const Statements& statements, const ScopePtr& scope, MarkedText& out);
  Flow execute(const Statement& statement, const ScopePtr& scope, MarkedText& out);
  Flow execute_if(const Statement& statement, const ScopePtr& scope, MarkedText& out);
  Flow execute_for(const Statement& statement, const ScopePtr& scope, MarkedText& out);
  // The loop over these elements; `depth` loops of the same statement are around it.
  Flow execute_loop(const Statement& statement, const ScopePtr& scope, const Value& iterable,
                    std::int64_t depth, MarkedText& out);
  void execute_call_block(const Statement& statement, const ScopePtr& scope, MarkedText& out);
  void print(const Value& value, MarkedText& out);
  // The text that statements print.
  MarkedText captured(const Statements& statements, ScopePtr scope);
  void assign(const Target& target, const Value& value, Scope& scope);
  Value make_macro(const Statement& statement, const ScopePtr& scope, const std::string& name);
  Value run_macro(const Statement& statement, const ScopePtr& scope, const std::string& name,
                  const Arguments& arguments);

  Value evaluate(const Expression& expression, const ScopePtr& scope);
  Value evaluate_name(const Expression& expression, const ScopePtr& scope);
  Value evaluate_dict(const Expression& expression, const ScopePtr& scope);
  Value evaluate_comparison(const Expression& expression, const ScopePtr& scope);
  Value evaluate_concat(const Expression& expression, const ScopePtr& scope);
  Value evaluate_slice(const Expression& expression, const ScopePtr& scope);
  Value evaluate_call(const Expression& expression, const ScopePtr& scope);
  // `text`: what filters of a block begin with; otherwise null.
  Value evaluate_filter(const Expression& expression, const ScopePtr& scope, const Value* text);
  [[noreturn]] void fail_call(const Undefined& callee, const std::string& expected) const;
  Value signed_number(const Expression& expression, const ScopePtr& scope);
  Values evaluate_all(const std::vector<ExpressionPtr>& expressions, const ScopePtr& scope);
  Arguments evaluate_arguments(const CallArguments& arguments, const ScopePtr& scope);

  Context context_;
  LocalTime now_;
  ScopePtr globals_;
  // What may hold one another in a circle, emptied at the end.
  std::vector<ScopePtr> kept_scopes_;
  std::vector<std::shared_ptr<Namespace>> kept_namespaces_;
  std::vector<std::shared_ptr<Loop>> kept_loops_;
};

// The functions that all templates can call.
std::vector<std::pair<std::string, Value>> global_functions();

}  // namespace hearth::models::chat_template
