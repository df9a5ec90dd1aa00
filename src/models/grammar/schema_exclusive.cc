#include "models/grammar/schema_exclusive.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_types.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMostCompared = 64;  // each with each
constexpr std::size_t kMostWays = 16;      // of one alternative to be none of the others
constexpr int kMostReferences = 4;         // to one another

// A schema, or null for what is none of keywords. References to references end somewhere.
const JsonObject* keywords_of(const JsonValue& schema, const SchemaDocument& document) {
  const JsonValue* at = &schema;
  for (int i = 0; i < kMostReferences; ++i) {
    const auto* object = std::get_if<JsonObject>(at);
    const JsonValue* reference = object == nullptr ? nullptr : find_key(*object, "$ref");
    const auto* text = reference == nullptr ? nullptr : std::get_if<std::string>(reference);
    if (text == nullptr) return object;
    at = &document.target(*text);
  }
  return nullptr;
}

const JsonObject* properties_of(const JsonObject& schema) {
  const JsonValue* all = find_key(schema, "properties");
  return all == nullptr ? nullptr : std::get_if<JsonObject>(all);
}

// Of the property; null where the schema does not declare it.
const JsonObject* property_of(const JsonObject& schema, const std::string& name,
                              const SchemaDocument& document) {
  const JsonObject* all = properties_of(schema);
  const JsonValue* one = all == nullptr ? nullptr : find_key(*all, name);
  return one == nullptr ? nullptr : keywords_of(*one, document);
}

bool requires_property(const JsonObject& schema, const std::string& name) {
  const std::vector<std::string> all = texts_at(schema, "required");
  return std::find(all.begin(), all.end(), name) != all.end();
}

bool allows_objects_alone(const JsonObject& schema) {
  return types_of(schema) == std::vector<std::string>{"object"} &&
         find_key(schema, "nullable") == nullptr;
}

std::optional<JsonArray> values_of(const JsonObject& schema) {
  if (const JsonValue* only = find_key(schema, "const")) return JsonArray{*only};
  const JsonArray* list = list_at(schema, "enum");
  return list == nullptr ? std::nullopt : std::optional(*list);
}

// None where the schema does not name any, or OpenAPI's nullable stands beside them.
std::vector<std::string> types_said(const JsonObject& schema) {
  const bool is_said =
      find_key(schema, "type") != nullptr && find_key(schema, "nullable") == nullptr;
  return is_said ? types_of(schema) : std::vector<std::string>();
}

// Whether what they list or, without a list, the types that they name have nothing in common.
bool differ_in_values(const JsonObject& a, const JsonObject& b) {
  const auto left = values_of(a), right = values_of(b);
  const std::vector<std::string> types = types_said(a), others = types_said(b);
  if (left && right) {
    return std::none_of(left->begin(), left->end(), [&](const JsonValue& one) {
      return std::any_of(right->begin(), right->end(),
                         [&](const JsonValue& other) { return equal_json(one, other); });
    });
  }
  const auto has_none = [](const JsonArray& values, const std::vector<std::string>& names) {
    return !names.empty() && std::none_of(values.begin(), values.end(), [&](const JsonValue& one) {
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& type) { return has_type(one, type); });
    });
  };
  if (left) return has_none(*left, others);
  if (right) return has_none(*right, types);
  const auto kind = [](const std::string& type) { return type == "integer" ? "number" : type; };
  return !types.empty() && !others.empty() &&
         std::none_of(types.begin(), types.end(), [&](const std::string& one) {
           return std::any_of(others.begin(), others.end(),
                              [&](const std::string& other) { return kind(one) == kind(other); });
         });
}

JsonObject with_property(const std::string& name, bool is_there) {
  JsonObject out = {{"type", std::string("object")}, {"properties", JsonObject{{name, is_there}}}};
  if (is_there) out.emplace_back("required", JsonArray{name});
  return out;
}

// Schemas of objects of the one that are none of the other: one that allows all where they never
// are, none where properties do not tell.
JsonArray ways_apart(const JsonObject& one, const JsonObject& other,
                     const SchemaDocument& document) {
  if (differ_in_values(one, other)) return {true};
  JsonArray out;
  if (!allows_objects_alone(one)) return out;
  if (const JsonObject* all = properties_of(other)) {
    for (const auto& [name, value] : *all) {
      const JsonObject* own = property_of(one, name, document);
      const JsonObject* twin = keywords_of(value, document);
      if (own == nullptr || twin == nullptr || !differ_in_values(*own, *twin)) continue;
      if (requires_property(one, name) || requires_property(other, name)) return {true};
      out.push_back(with_property(name, true));
    }
  }
  const JsonObject* declared = properties_of(one);
  for (const std::string& name : texts_at(other, "required")) {
    if (requires_property(one, name)) continue;
    // Of an object with other properties this is no more than grammars of it say anyhow.
    if (declared != nullptr && find_key(*declared, name) == nullptr) {
      return {with_property(name, false)};
    }
    out.push_back(with_property(name, false));
  }
  return out;
}

}  // namespace

JsonArray exclusive_schemas(const JsonArray& alternatives, const SchemaDocument& document) {
  if (alternatives.size() > kMostCompared) return alternatives;
  JsonArray out;
  for (const JsonValue& schema : alternatives) {
    const JsonObject* own = keywords_of(schema, document);
    JsonValue exclusive = schema;
    std::size_t count = 1;
    for (const JsonValue& other : alternatives) {
      const JsonObject* twin = keywords_of(other, document);
      if (&other == &schema || own == nullptr || twin == nullptr) continue;
      JsonArray ways = ways_apart(*own, *twin, document);
      if (ways.empty()) continue;
      count *= ways.size();
      exclusive =
          both_hold(exclusive, ways.size() == 1 ? ways[0] : JsonValue(JsonObject{{"anyOf", ways}}));
    }
    out.push_back(count > kMostWays ? schema : exclusive);
  }
  return out;
}

}  // namespace hearth::models::grammar
