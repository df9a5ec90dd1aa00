#include "models/grammar/schema_types.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_keywords.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_negation.h"

namespace hearth::models::grammar {
namespace {

constexpr std::array<std::string_view, 7> kTypes = {"null",   "boolean", "integer", "number",
                                                    "string", "array",   "object"};

// The names of a `type`, or of several of them.
std::vector<std::string> type_names(const JsonObject& schema) {
  std::vector<std::string> out;
  const JsonValue& type = *find_key(schema, "type");
  const auto* several = std::get_if<JsonArray>(&type);
  for (const JsonValue& one : several != nullptr ? *several : JsonArray{type}) {
    const auto* name = std::get_if<std::string>(&one);
    if (name == nullptr || std::find(kTypes.begin(), kTypes.end(), *name) == kTypes.end()) {
      fail_schema("no type; got " + json_text(one) + ", expected a name such as \"string\"");
    }
    out.push_back(*name);
  }
  return out;
}

JsonArray names_of(const std::vector<std::string>& names) {
  return JsonArray(names.begin(), names.end());
}

bool is_number(const JsonValue& value) {
  return std::holds_alternative<std::int64_t>(value) ||
         std::holds_alternative<std::uint64_t>(value) || std::holds_alternative<double>(value);
}

}  // namespace

void check_keywords(const JsonObject& schema) {
  for (const auto& [key, value] : schema) {
    const Keyword* keyword = keyword_of(key);
    if (keyword == nullptr || keyword->use == KeywordUse::written ||
        keyword->use == KeywordUse::combined) {
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
  if (find_key(schema, "type") != nullptr) {
    for (const std::string& name : type_names(schema)) add(name);
    if (out.empty()) fail_schema("`type` without types; got []");
    return out;
  }
  for (const auto& [key, value] : schema) {
    const Keyword* keyword = keyword_of(key);
    if (keyword != nullptr && !keyword->type.empty()) add(std::string(keyword->type));
  }
  if (out.empty()) out.emplace_back("any");
  return out;
}

std::vector<std::string> types_left(const JsonObject& schema) {
  std::vector<std::string> out = types_of(schema);
  const JsonValue* negation = find_key(schema, "not");
  if (negation == nullptr) return out;
  const Excluded excluded = excluded_by(schema);
  std::vector<std::string> gone = type_names({{"type", names_of(excluded.types)}});
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (std::find(excluded.values.begin(), excluded.values.end(), JsonValue(nullptr)) !=
      excluded.values.end()) {
    gone.emplace_back("null");
  }
  const bool is_any = out == std::vector<std::string>{"any"};
  if (is_any) out = {"null", "boolean", "number", "string", "array", "object"};
  if (has(gone, "integer") && !has(gone, "number") && has(out, "number")) {
    if (!is_any) {
      fail_unsupported(
          "keyword not supported; got `not` of integer beside number, expected one of both");
    }
    gone.emplace_back("number");
  }
  if (has(gone, "number")) gone.emplace_back("integer");
  std::erase_if(out, [&](const std::string& type) { return has(gone, type.c_str()); });
  if (out.empty()) {
    fail_without_values("types that exclude each other; got `not` of all types that there are");
  }
  return out;
}

bool equal_json(const JsonValue& a, const JsonValue& b) {
  if (is_number(a) && is_number(b)) {
    const Decimal x = decimal_of(a), y = decimal_of(b);
    return x.digits == y.digits && x.fraction == y.fraction &&
           (x.is_negative == y.is_negative || x.is_zero());
  }
  const auto* left = std::get_if<JsonArray>(&a);
  const auto* right = std::get_if<JsonArray>(&b);
  if (left != nullptr && right != nullptr) {
    return std::equal(left->begin(), left->end(), right->begin(), right->end(), equal_json);
  }
  const auto* members = std::get_if<JsonObject>(&a);
  const auto* others = std::get_if<JsonObject>(&b);
  if (members == nullptr || others == nullptr) return a == b;
  return members->size() == others->size() &&
         std::all_of(members->begin(), members->end(), [&](const auto& member) {
           const JsonValue* twin = find_key(*others, member.first);
           return twin != nullptr && equal_json(member.second, *twin);
         });
}

bool holds(const JsonArray& values, const JsonValue& value) {
  return std::any_of(values.begin(), values.end(),
                     [&](const JsonValue& one) { return equal_json(one, value); });
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
