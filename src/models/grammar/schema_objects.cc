#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/grammar/schema_characters.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_negation.h"
#include "models/grammar/schema_pattern.h"
#include "models/grammar/schema_strings.h"
#include "models/grammar/schema_texts.h"
#include "models/grammar/schema_writer.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxNameKinds = 64;
constexpr char kColon[] = " space \":\" space ";

JsonObject declared_in(const JsonObject& schema, const char* key) {
  const JsonValue* value = find_key(schema, key);
  if (value == nullptr) return {};
  const auto* declared = std::get_if<JsonObject>(value);
  if (declared == nullptr) {
    fail_schema("`" + std::string(key) + "` is no object; got " + json_text(*value));
  }
  return *declared;
}

}  // namespace

// What a schema says of the names of its members.
struct SchemaWriter::Names {
  struct OfPattern {
    TextAutomaton matching, others;
    JsonValue value;
  };
  JsonObject declared;
  std::vector<OfPattern> patterns;
  std::optional<TextAutomaton> allowed;  // by propertyNames; any where there is none
  const JsonValue* others = nullptr;     // what additionalProperties says
  bool is_open = false;                  // whether names may stand there that nothing declares
};

std::string SchemaWriter::object(const JsonObject& schema, int depth) {
  Names names;
  names.declared = declared_in(schema, "properties");
  for (const auto& [text, value] : declared_in(schema, "patternProperties")) {
    const Pattern pattern = read_pattern(text);
    names.patterns.push_back(
        {matching_texts(pattern, steps_), texts_without(pattern, steps_), value});
  }
  if (const JsonValue* rule = find_key(schema, "propertyNames")) {
    names.allowed = valid_texts(*rule, document_, steps_, depth + 1);
  }
  names.others = find_key(schema, "additionalProperties");
  if (names.others == nullptr) names.others = find_key(schema, "unevaluatedProperties");
  const bool declares = find_key(schema, "properties") != nullptr || !names.patterns.empty();
  names.is_open = names.others != nullptr ? *names.others != JsonValue(false) : !declares;

  std::int64_t least = count_of(schema, "minProperties", 0);
  const std::int64_t most = count_of(schema, "maxProperties", -1);
  for (const JsonValue& value : excluded_by(schema).values) {
    const auto* members = std::get_if<JsonObject>(&value);
    if (members == nullptr) continue;
    if (!members->empty()) {
      fail_unsupported("keyword not supported; got `not` of " + json_text(value) +
                       ", expected no object but {}");
    }
    least = std::max<std::int64_t>(least, 1);
  }
  std::vector<ListMember> members;
  for (const Property& property : properties_of(schema, names)) {
    const std::optional<std::string> value = property.is_required
                                                 ? visit(property.value, depth + 1)
                                                 : visit_if_any(property.value, depth + 1);
    // A property that has no values is one that never stands there.
    if (!value) continue;
    members.push_back({gbnf_literal(json_text(JsonValue(property.name))) + kColon + *value,
                       property.is_required});
  }
  const std::string other = most == 0 ? "" : other_members(schema, names, depth);
  return rules_.rule("object", "\"{\" space " +
                                   members_rule(members, other, least, most, "Properties", rules_) +
                                   " space \"}\"");
}

// Those that the schema declares, in its order, then the others that it requires.
std::vector<SchemaWriter::Property> SchemaWriter::properties_of(const JsonObject& schema,
                                                                const Names& names) {
  std::vector<Property> out;
  std::set<std::string> required;
  JsonObject all = names.declared;
  if (const JsonArray* list = list_at(schema, "required")) {
    for (const JsonValue& value : *list) {
      const auto* name = std::get_if<std::string>(&value);
      if (name == nullptr) fail_schema("`required` of no name; got " + json_text(value));
      if (!required.insert(*name).second || find_key(all, *name) != nullptr) continue;
      all.emplace_back(*name, true);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& [name, value] = all[i];
    const bool is_required = required.contains(name);
    bool is_additional = i >= names.declared.size();
    for (const Names::OfPattern& pattern : names.patterns) {
      // Where dialects differ, what holds by either must.
      const bool is_other = pattern.others.accepts(name);
      if (!is_other) value = both_hold(value, pattern.value);
      if (pattern.matching.accepts(name)) is_additional = false;
    }
    if (is_additional && names.others != nullptr) value = both_hold(value, *names.others);
    if (is_required && is_additional && value == JsonValue(false)) {
      fail_without_values("required property that additionalProperties forbids; got `" + name +
                          "`, expected it among the properties");
    }
    if (names.allowed && !names.allowed->accepts(name)) {
      if (!is_required) continue;
      fail_without_values("required property that propertyNames forbids; got `" + name +
                          "`, expected a name that it allows");
    }
    out.push_back({name, value, is_required});
  }
  return out;
}

// A member of a name that is not declared; empty where there is none.
std::string SchemaWriter::other_members(const JsonObject& schema, const Names& names, int depth) {
  std::vector<std::string> declared;
  for (const auto& [name, value] : names.declared) declared.push_back(name);
  if (const JsonArray* list = list_at(schema, "required")) {
    for (const JsonValue& name : *list) declared.push_back(std::get<std::string>(name));
  }
  const JsonValue others = names.others == nullptr ? JsonValue(true) : *names.others;
  if (names.patterns.empty() && !names.allowed) {
    if (!names.is_open) return "";
    const std::optional<std::string> value = visit_if_any(others, depth + 1);
    if (!value) return "";
    return (declared.empty() ? rules_.any_string()
                             : rules_.rule("name", other_name_grammar(declared))) +
           kColon + *value;
  }
  // Kinds of names by the patterns that they match.
  struct Kind {
    TextAutomaton names;
    JsonValue value = true;
    bool is_additional = true;
  };
  TextAutomaton undeclared = texts_of(declared, steps_).negated();
  if (names.allowed) undeclared = undeclared.both(*names.allowed, steps_);
  std::vector<Kind> kinds;
  kinds.push_back({std::move(undeclared)});
  for (const Names::OfPattern& pattern : names.patterns) {
    std::vector<Kind> next;
    for (const Kind& kind : kinds) {
      Kind inside{kind.names.both(pattern.matching, steps_), both_hold(kind.value, pattern.value),
                  false};
      if (!inside.names.is_empty()) next.push_back(std::move(inside));
      Kind outside{kind.names.both(pattern.others, steps_), kind.value, kind.is_additional};
      if (!outside.names.is_empty()) next.push_back(std::move(outside));
    }
    if (next.size() > kMaxNameKinds) {
      fail_unsupported("`patternProperties` too many together; got more than " +
                       std::to_string(kMaxNameKinds) +
                       " kinds of names by the patterns that match, expected less");
    }
    kinds = std::move(next);
  }
  std::string body;
  for (const Kind& kind : kinds) {
    if ((kind.is_additional && !names.is_open) || kind.names.is_empty()) continue;
    const std::optional<std::string> value =
        visit_if_any(kind.is_additional ? others : kind.value, depth + 1);
    if (!value) continue;
    body += (body.empty() ? "" : " | ") + std::string("\"\\\"\" ") +
            json_texts(kind.names, rules_) + " \"\\\"\"" + kColon + *value;
  }
  return body.empty() ? "" : rules_.rule("member", body);
}

}  // namespace hearth::models::grammar
