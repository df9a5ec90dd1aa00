#include "models/grammar/schema_merge.h"

#include <algorithm>
#include <iterator>

#include "core/whole_message.h"
#include "hearth/error.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxAlternatives = 256;

// All keywords that restrict values in some draft, whether grammars hold to them or not. Drafts let
// any others stand, and documents are full of them.
constexpr std::string_view kRestricting[] = {
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "divisibleBy",
    "disallow",
    "extends",
    "formatMinimum",
    "formatMaximum",
    "formatExclusiveMinimum",
    "formatExclusiveMaximum",
};

// Which of two values of a keyword restricts more.
enum class Stricter { larger, smaller, none };
Stricter stricter_of(std::string_view key) {
  if (key == "minimum" || key == "exclusiveMinimum" || key == "minLength" || key == "minItems" ||
      key == "minProperties") {
    return Stricter::larger;
  }
  if (key == "maximum" || key == "exclusiveMaximum" || key == "maxLength" || key == "maxItems" ||
      key == "maxProperties") {
    return Stricter::smaller;
  }
  return Stricter::none;
}

double number_of(const JsonValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*u);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  fail_schema("limit without a number; got " + json_text(value) + ", expected a number");
}

JsonArray as_list(const JsonValue& value) {
  if (const auto* list = std::get_if<JsonArray>(&value)) return *list;
  return {value};
}

bool contains(const JsonArray& list, const JsonValue& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

JsonValue merged_types(const JsonValue& a, const JsonValue& b) {
  const JsonArray left = as_list(a), right = as_list(b);
  JsonArray out;
  for (const JsonValue& type : left) {
    const bool is_number = type == JsonValue(std::string("number"));
    if (contains(right, type) || (type == JsonValue(std::string("integer")) &&
                                  contains(right, JsonValue(std::string("number"))))) {
      out.push_back(type);
    } else if (is_number && contains(right, JsonValue(std::string("integer")))) {
      out.emplace_back(std::string("integer"));
    }
  }
  if (out.empty()) {
    fail_unsupported("types that exclude each other; got " + json_text(a) + " and " + json_text(b) +
                     ", expected a type that both have");
  }
  return out;
}

JsonValue both_hold(const JsonValue& a, const JsonValue& b) {
  if (a == b) return a;
  return JsonObject{{"allOf", JsonArray{a, b}}};
}

// What the schema says of a property that it does not declare: null where anything is allowed.
const JsonValue* rule_for_others(const JsonObject& schema) {
  const JsonValue* rule = find_key(schema, "additionalProperties");
  return rule != nullptr && *rule == JsonValue(true) ? nullptr : rule;
}

// Properties that only one declares must satisfy what the other says of additional ones.
JsonValue merged_properties(const JsonObject& a, const JsonObject& b) {
  JsonObject out;
  const auto declared = [](const JsonObject& schema) {
    const JsonValue* value = find_key(schema, "properties");
    const auto* object = value == nullptr ? nullptr : std::get_if<JsonObject>(value);
    return object == nullptr ? JsonObject() : *object;
  };
  const JsonObject left = declared(a), right = declared(b);
  const auto add = [&](const std::string& name, const JsonValue& value, const JsonObject& other) {
    const JsonValue* rule = rule_for_others(other);
    out.emplace_back(name, rule == nullptr ? value : both_hold(value, *rule));
  };
  for (const auto& [name, value] : left) {
    if (const JsonValue* twin = find_key(right, name)) {
      out.emplace_back(name, both_hold(value, *twin));
    } else {
      add(name, value, b);
    }
  }
  for (const auto& [name, value] : right) {
    if (find_key(left, name) == nullptr) add(name, value, a);
  }
  return out;
}

JsonValue merged_additional(const JsonValue& a, const JsonValue& b) {
  if (a == JsonValue(false) || b == JsonValue(false)) return false;
  if (a == JsonValue(true)) return b;
  if (b == JsonValue(true)) return a;
  return both_hold(a, b);
}

JsonValue merged_values(std::string_view key, const JsonValue& a, const JsonValue& b) {
  if (a == b) return a;
  const Stricter stricter = stricter_of(key);
  if (stricter != Stricter::none) {
    const bool is_larger = number_of(a) > number_of(b);
    return (stricter == Stricter::larger) == is_larger ? a : b;
  }
  if (key == "type") return merged_types(a, b);
  if (key == "required") {
    JsonArray out = as_list(a);
    for (const JsonValue& name : as_list(b)) {
      if (!contains(out, name)) out.push_back(name);
    }
    return out;
  }
  if (key == "enum") {
    JsonArray out;
    for (const JsonValue& value : as_list(a)) {
      if (contains(as_list(b), value)) out.push_back(value);
    }
    return out;
  }
  if (key == "items") return both_hold(a, b);
  if (key == "additionalProperties") return merged_additional(a, b);
  if (key == "anyOf") {
    const JsonArray left = as_list(a), right = as_list(b);
    if (left.size() * right.size() > kMaxAlternatives) {
      fail_unsupported("too many alternatives together; got " + std::to_string(left.size()) +
                       " times " + std::to_string(right.size()) + ", expected at most " +
                       std::to_string(kMaxAlternatives));
    }
    JsonArray out;
    for (const JsonValue& first : left) {
      for (const JsonValue& second : right) out.push_back(both_hold(first, second));
    }
    return out;
  }
  if (is_annotation(key)) return a;
  fail_unsupported("two values of `" + std::string(key) + "` that should both hold; got " +
                   json_text(a) + " and " + json_text(b) + ", expected equal values");
}

}  // namespace

void fail_schema(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, whole_message("json_schema: " + what));
}

void fail_unsupported(const std::string& what) {
  throw Error(ErrorCode::unsupported, whole_message("json_schema: " + what));
}

std::int64_t count_of(const JsonObject& schema, std::string_view key, std::int64_t fallback) {
  const JsonValue* value = find_key(schema, key);
  if (value == nullptr) return fallback;
  const double number = number_of(*value);
  if (!(number >= 0 && number <= 1e9) || number != static_cast<double>(std::int64_t(number))) {
    fail_schema("`" + std::string(key) + "` out of range; got " + json_text(*value) +
                ", expected a whole number from 0 to 1000000000");
  }
  return static_cast<std::int64_t>(number);
}

const JsonArray* list_at(const JsonObject& schema, std::string_view key) {
  const JsonValue* value = find_key(schema, key);
  if (value == nullptr) return nullptr;
  const auto* list = std::get_if<JsonArray>(value);
  if (list == nullptr) {
    fail_schema("`" + std::string(key) + "` is no list; got " + json_text(*value) +
                ", expected [...]");
  }
  return list;
}

bool is_annotation(std::string_view key) noexcept {
  return std::find(std::begin(kRestricting), std::end(kRestricting), key) == std::end(kRestricting);
}

JsonObject merged_schemas(const JsonObject& a, const JsonObject& b) {
  JsonObject out;
  const bool has_properties =
      find_key(a, "properties") != nullptr || find_key(b, "properties") != nullptr;
  for (const auto& [key, value] : a) {
    if (key == "properties") continue;
    const JsonValue* other = find_key(b, key);
    out.emplace_back(key, other == nullptr ? value : merged_values(key, value, *other));
  }
  for (const auto& [key, value] : b) {
    if (key != "properties" && find_key(a, key) == nullptr) out.emplace_back(key, value);
  }
  if (has_properties) out.emplace_back("properties", merged_properties(a, b));
  return out;
}

}  // namespace hearth::models::grammar
