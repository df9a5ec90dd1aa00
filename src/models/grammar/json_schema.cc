#include "models/grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/grammar/automaton.h"
#include "models/grammar/finite_texts.h"
#include "models/grammar/gbnf_parser.h"
#include "models/grammar/positions.h"
#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_characters.h"
#include "models/grammar/schema_document.h"
#include "models/grammar/schema_keywords.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_negation.h"
#include "models/grammar/schema_number_rule.h"
#include "models/grammar/schema_pattern.h"
#include "models/grammar/schema_rules.h"
#include "models/grammar/schema_texts.h"
#include "models/grammar/schema_types.h"
#include "models/grammar/schema_writer.h"

namespace hearth::models::grammar {
namespace {

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

// Numbers of so many digits are not read exactly, and would be written as others.
void require_exact(const JsonValue& value) {
  constexpr double kInexact = 9007199254740992;  // 2^53
  if (const auto* number = std::get_if<double>(&value); number && std::abs(*number) >= kInexact) {
    fail_unsupported("number too large for enum or const; got " + json_text(value) +
                     ", expected an integer of 64 bits, or less than 2^53");
  }
  if (const auto* list = std::get_if<JsonArray>(&value)) {
    for (const JsonValue& each : *list) require_exact(each);
  }
  if (const auto* object = std::get_if<JsonObject>(&value)) {
    for (const auto& member : *object) require_exact(member.second);
  }
}

// As integers are written; empty for what is no whole number.
std::string whole_text(const JsonValue& value) {
  if (!has_type(value, "integer")) return "";
  const Decimal number = decimal_of(value);
  return (number.is_negative ? "-" : "") + number.digits;
}

// Whether a text is one of those of a grammar.
bool has_text(const Automaton& automaton, std::string_view text) {
  Positions positions(automaton);
  SetId set = positions.start();
  for (const char c : text) {
    positions.begin_token();
    set = positions.after(set, static_cast<std::uint8_t>(c));
    if (set == Positions::kNowhere) return false;
  }
  return positions.may_end(set);
}

}  // namespace

std::string SchemaWriter::reference(const JsonValue& value, int depth) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(value));
  const auto [found, is_new] = by_reference_.try_emplace(*text, "");
  if (!is_new) return found->second;
  const JsonValue& schema = document_.target(*text);
  const std::string name = found->second = rules_.open("ref");
  try {
    rules_.fill(name, visit(schema, depth + 1));
  } catch (const SchemaWithoutValues&) {
    // What referred to it meanwhile has none of it, either.
    rules_.fill(name, "[]");
    by_reference_.erase(*text);
    throw;
  }
  return name;
}

std::string SchemaWriter::visit(const JsonValue& schema, int depth) {
  if (depth > kMaxSchemaDepth) {
    fail_unsupported("nested too deep; got more than " + std::to_string(kMaxSchemaDepth) +
                     " levels, expected less");
  }
  if (const auto* object = std::get_if<JsonObject>(&schema)) {
    // A reference alone becomes a rule of its own, so that cycles are rules that call themselves.
    const bool is_alone = std::all_of(object->begin(), object->end(), [](const auto& member) {
      return member.first == "$ref" || is_annotation(member.first);
    });
    const JsonValue* ref = find_key(*object, "$ref");
    if (ref != nullptr && is_alone) return reference(*ref, depth);
  }
  return visit_expanded(document_.expanded(schema, 0), depth);
}

std::optional<std::string> SchemaWriter::visit_if_any(const JsonValue& schema, int depth) {
  try {
    return visit(schema, depth);
  } catch (const SchemaWithoutValues&) {
    return std::nullopt;
  }
}

std::string SchemaWriter::visit_expanded(JsonObject schema, int depth) {
  std::vector<std::string> rules;
  std::exception_ptr empty;  // what was thrown for the last part without values
  const auto add = [&](const auto& write) {
    try {
      rules.push_back(write());
    } catch (const SchemaWithoutValues&) {
      empty = std::current_exception();
    }
  };
  if (const JsonValue* any = find_key(schema, "anyOf")) {
    const JsonArray alternatives = std::get<JsonArray>(*any);
    if (alternatives.empty()) fail_schema("alternatives without any; got []");
    std::erase_if(schema, [](const auto& member) {
      return member.first == "anyOf" || is_annotation(member.first);
    });
    for (const JsonValue& one : alternatives) {
      add([&] {
        if (schema.empty()) return visit(one, depth + 1);
        return visit_expanded(merged_schemas(schema, document_.expanded(one, depth + 1)),
                              depth + 1);
      });
    }
    if (rules.empty()) std::rethrow_exception(empty);
    return rules_.rule("any", join(rules, " | "));
  }
  check_keywords(schema);
  if (find_key(schema, "const") != nullptr || find_key(schema, "enum") != nullptr) {
    return constants(schema, depth);
  }
  for (const std::string& type : types_left(schema)) {
    add([&] { return of_type(type, schema, depth); });
  }
  if (rules.empty()) std::rethrow_exception(empty);
  return rules.size() == 1 ? rules[0] : rules_.rule("types", join(rules, " | "));
}

// The values of enum and const that the other keywords allow.
JsonArray SchemaWriter::fitting_constants(const JsonObject& schema, int depth) {
  JsonArray values;
  if (const JsonArray* list = list_at(schema, "enum")) values = *list;
  if (const JsonValue* only = find_key(schema, "const")) {
    const bool is_one = find_key(schema, "enum") == nullptr || holds(values, *only);
    values = is_one ? JsonArray{*only} : JsonArray{};
  }
  JsonObject rest;
  bool is_restricted = false;
  for (const auto& [key, value] : schema) {
    if (key == "enum" || key == "const" || is_annotation(key)) continue;
    rest.emplace_back(key, value);
    is_restricted = is_restricted || (key != "type" && key != "not");
  }
  const bool is_typed = find_key(schema, "type") != nullptr;
  const std::vector<std::string> types =
      is_typed ? types_of(schema) : std::vector<std::string>{"any"};
  const Excluded excluded = excluded_by(schema);
  const auto is_of = [](const JsonValue& value, const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& type) { return has_type(value, type); });
  };
  steps_.take(values.size() * (1 + excluded.values.size()));
  std::erase_if(values, [&](const JsonValue& value) {
    return !is_of(value, types) || is_of(value, excluded.types) || holds(excluded.values, value);
  });
  for (const std::string& pattern : excluded.patterns) {
    const TextAutomaton others = texts_without(read_pattern(pattern), steps_);
    std::erase_if(values, [&](const JsonValue& value) {
      const auto* text = std::get_if<std::string>(&value);
      return text != nullptr && !others.accepts(*text);
    });
  }
  for (const JsonValue& value : values) require_exact(value);
  if (!is_restricted || values.empty()) return values;
  // A value fits where the grammar of the rest has its text.
  std::erase_if(rest, [](const auto& member) { return member.first == "not"; });
  if (!is_typed) {
    rest.emplace_back(
        "type", JsonArray{std::string("null"), std::string("boolean"), std::string("number"),
                          std::string("string"), std::string("array"), std::string("object")});
  }
  SchemaRules rules;
  const std::string name = SchemaWriter(document_, rules, steps_).visit_expanded(rest, depth + 1);
  Syntax syntax = parse_gbnf(rules.text(name), "root");
  if (!keep_finite_texts(&syntax)) return {};
  const Automaton automaton(syntax);
  std::erase_if(values, [&](const JsonValue& value) {
    return !has_text(automaton, json_text(value)) && !has_text(automaton, whole_text(value));
  });
  return values;
}

std::string SchemaWriter::constants(const JsonObject& schema, int depth) {
  std::vector<std::string> literals;
  for (const JsonValue& value : fitting_constants(schema, depth)) {
    literals.push_back(gbnf_literal(json_text(value)));
  }
  if (literals.empty()) {
    fail_without_values("enum or const without values; got none that its other keywords allow");
  }
  return rules_.rule("constants", join(literals, " | "));
}

std::string SchemaWriter::of_type(const std::string& type, const JsonObject& schema, int depth) {
  if (type == "any") return rules_.any_value();
  if (type == "null") return "\"null\"";
  if (type == "boolean") return boolean(schema);
  if (type == "integer" || type == "number") {
    return number_rule(type == "integer", schema, rules_, steps_);
  }
  if (type == "string") return string_rule(schema, rules_, steps_);
  return type == "array" ? array(schema, depth) : object(schema, depth);
}

std::string SchemaWriter::boolean(const JsonObject& schema) {
  const JsonArray excluded = excluded_by(schema).values;
  const bool no_true = holds(excluded, true), no_false = holds(excluded, false);
  if (no_true && no_false) fail_without_values("`not` of true and false; got no other boolean");
  if (no_true) return "\"false\"";
  if (no_false) return "\"true\"";
  return rules_.shared("boolean", "\"true\" | \"false\"");
}

std::string SchemaGrammar::add(const JsonValue& schema) {
  SchemaDocument document(schema);
  return SchemaWriter(document, rules_, steps_).visit(schema, 0);
}

std::string gbnf_of_schema(const JsonValue& schema) {
  SchemaGrammar grammar;
  const std::string root = grammar.add(schema);
  return grammar.text(root);
}

}  // namespace hearth::models::grammar
