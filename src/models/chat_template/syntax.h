// A parsed template: a tree of statements and expressions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

enum class ExpressionKind {
  literal,      // value
  name,         // name
  list,         // children: the elements
  tuple,        // children: the elements
  dict,         // children: key, value, key, value, ...
  negative,     // [of]
  positive,     // [of]
  logical_not,  // [of]
  logical_and,  // [left, right]
  logical_or,   // [left, right]
  binary,       // [left, right], name: the operator
  concat,       // children: what ~ joins
  comparison,   // [first, ...], names: the operators between them, "not in" too
  conditional,  // [condition, then] or [condition, then, else]
  attribute,    // [of], name
  item,         // [of, key]
  slice,        // [of, begin, end, step], null where left out
  call,         // [callee], arguments
  filter,       // [of] (null in blocks, whose text it takes), name, arguments
  test,         // [of], name, arguments
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr rest, named_rest;  // of *x and **x; may be null
};

struct Expression {
  ExpressionKind kind;
  int line;
  int height = 1;  // levels of expressions, this one too
  std::string name;
  Value value;
  std::vector<ExpressionPtr> children;
  std::vector<std::string> names;
  CallArguments arguments;
};

enum class StatementKind {
  data,          // name: the text, in `value`
  output,        // expressions: what is printed
  if_chain,      // branches
  for_loop,      // targets, expressions: [iterable, filter or null], body, other
  assign,        // targets, expressions: [value]
  assign_block,  // targets, body, expressions: [filters or null]
  macro,         // name, parameters, body
  call_block,    // expressions: [the call], parameters, body
  filter_block,  // expressions: [filters], body
  generation,    // body: what the assistant said
  with_block,    // target: parts that are the names, expressions: their values, body
  loop_break,
  loop_continue,
};

struct Statement;
using Statements = std::vector<Statement>;

// A variable, an attribute of a namespace, or several of them.
struct Target {
  std::string name, attribute;  // attribute may be empty
  std::vector<Target> parts;    // where these are, the others are empty
};

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // may be null
};

struct Branch {
  ExpressionPtr condition;  // null for else
  Statements body;
};

struct Statement {
  StatementKind kind;
  int line;
  std::string name;
  Value value;
  Target target;
  std::vector<ExpressionPtr> expressions;
  std::vector<Parameter> parameters;
  std::vector<Branch> branches;
  Statements body, other;
  bool is_recursive = false;                                                // of loops
  bool takes_rest = false, takes_named_rest = false, takes_caller = false;  // of macros
};

}  // namespace hearth::models::chat_template
