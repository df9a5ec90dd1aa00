#include "models/grammar/schema_types.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "array",   "object"};

// The type whose values a keyword is about; empty for those of all.
struct Keyword {
  std::string_view name, type;
};
constexpr Keyword kKeywords[] = {
    {"type", ""},
    {"enum", ""},
    {"const", ""},
    {"anyOf", ""},
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"unevaluatedProperties", "object"},
    {"minProperties", "object"},
    {"maxProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"uniqueItems", "array"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"pattern", "string"},
    {"format", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
};

}  // namespace

void check_keywords(const JsonObject& schema) {
  for (const auto& [key, value] : schema) {
    const bool is_known = std::any_of(std::begin(kKeywords), std::end(kKeywords),
                                      [&](const Keyword& known) { return known.name == key; });
    if (is_known || is_annotation(key)) continue;
    if (key == "multipleOf" && value == JsonValue(std::int64_t{1}) &&
        find_key(schema, "type") != nullptr &&
        *find_key(schema, "type") == JsonValue(std::string("integer"))) {
      continue;
    }
    fail_unsupported("keyword not supported; got `" + key +
                     "`, expected one that grammars can hold to");
  }
}

std::vector<std::string> types_of(const JsonObject& schema) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& type) {
    if (std::find(out.begin(), out.end(), type) == out.end()) out.push_back(type);
  };
  if (const JsonValue* type = find_key(schema, "type")) {
    const auto* several = std::get_if<JsonArray>(type);
    for (const JsonValue& one : several != nullptr ? *several : JsonArray{*type}) {
      const auto* name = std::get_if<std::string>(&one);
      if (name == nullptr || std::find(kTypes.begin(), kTypes.end(), *name) == kTypes.end()) {
        fail_schema("no type; got " + json_text(one) + ", expected a name such as \"string\"");
      }
      add(*name);
    }
    if (out.empty()) fail_schema("`type` without types; got []");
    return out;
  }
  for (const auto& [key, value] : schema) {
    for (const Keyword& known : kKeywords) {
      if (known.name == key && !known.type.empty()) add(std::string(known.type));
    }
  }
  if (out.empty()) out.emplace_back("any");
  return out;
}

bool has_type(const JsonValue& value, const std::string& type) {
  if (type == "any") return true;
  if (type == "null") return std::holds_alternative<std::nullptr_t>(value);
  if (type == "boolean") return std::holds_alternative<bool>(value);
  if (type == "string") return std::holds_alternative<std::string>(value);
  if (type == "array") return std::holds_alternative<JsonArray>(value);
  if (type == "object") return std::holds_alternative<JsonObject>(value);
  const auto* real = std::get_if<double>(&value);
  const bool is_whole = std::holds_alternative<std::int64_t>(value) ||
                        std::holds_alternative<std::uint64_t>(value) ||
                        (real != nullptr && decimal_of(value).fraction.empty());
  return type == "integer" ? is_whole : is_whole || real != nullptr;
}

}  // namespace hearth::models::grammar
