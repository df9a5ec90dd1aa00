#include "models/grammar/schema_merge.h"

#include <algorithm>

#include "core/whole_message.h"
#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_keywords.h"
#include "models/grammar/schema_types.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxAlternatives = 256;

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
    fail_without_values("types that exclude each other; got " + json_text(a) + " and " +
                        json_text(b) + ", expected a type that both have");
  }
  return out;
}

JsonArray joined_lists(const JsonValue& a, const JsonValue& b) {
  JsonArray out = as_list(a);
  for (const JsonValue& value : as_list(b)) {
    if (!contains(out, value)) out.push_back(value);
  }
  return out;
}

// What `not` says of several schemas, none of which may hold.
JsonArray negated_schemas(const JsonValue& negation) {
  const auto* object = std::get_if<JsonObject>(&negation);
  const JsonArray* any = object == nullptr ? nullptr : list_at(*object, "anyOf");
  return any == nullptr ? JsonArray{negation} : *any;
}

// What the schema says of a property that it does not declare: null where anything is allowed.
const JsonValue* rule_for_others(const JsonObject& schema) {
  const JsonValue* rule = find_key(schema, "additionalProperties");
  return rule != nullptr && *rule == JsonValue(true) ? nullptr : rule;
}

// Properties, or patterns of them, that only one declares must satisfy what the other says of
// additional ones.
JsonValue merged_properties(std::string_view key, const JsonObject& a, const JsonObject& b) {
  JsonObject out;
  const auto declared = [&](const JsonObject& schema) {
    const JsonValue* value = find_key(schema, key);
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

// The first items by place: those of one are also of what the other says of the items there.
JsonArray merged_prefixes(const JsonObject& a, const JsonObject& b) {
  const JsonArray* left = list_at(a, "prefixItems");
  const JsonArray* right = list_at(b, "prefixItems");
  const auto item = [](const JsonArray* prefix, const JsonObject& schema, std::size_t place) {
    if (prefix != nullptr && place < prefix->size()) return (*prefix)[place];
    const JsonValue* items = find_key(schema, "items");
    return items == nullptr ? JsonValue(true) : *items;
  };
  const std::size_t count =
      std::max(left == nullptr ? 0 : left->size(), right == nullptr ? 0 : right->size());
  JsonArray out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(both_hold(item(left, a, i), item(right, b, i)));
  }
  return out;
}

JsonArray common_values(const JsonArray& a, const JsonArray& b) {
  JsonArray out;
  for (const JsonValue& value : a) {
    if (holds(b, value)) out.push_back(value);
  }
  return out;
}

JsonArray merged_alternatives(const JsonArray& a, const JsonArray& b) {
  if (a.size() * b.size() > kMaxAlternatives) {
    fail_unsupported("too many alternatives together; got " + std::to_string(a.size()) + " times " +
                     std::to_string(b.size()) + ", expected at most " +
                     std::to_string(kMaxAlternatives));
  }
  JsonArray out;
  for (const JsonValue& first : a) {
    for (const JsonValue& second : b) out.push_back(both_hold(first, second));
  }
  return out;
}

JsonValue merged_values(const Keyword& keyword, const JsonValue& a, const JsonValue& b) {
  switch (keyword.merge) {
    case KeywordMerge::larger:
      return is_before(decimal_of(a), decimal_of(b)) ? b : a;
    case KeywordMerge::smaller:
      return is_before(decimal_of(a), decimal_of(b)) ? a : b;
    case KeywordMerge::either:
      return a == JsonValue(true) || b == JsonValue(true);
    case KeywordMerge::types:
      return merged_types(a, b);
    case KeywordMerge::common:
      return common_values(as_list(a), as_list(b));
    case KeywordMerge::joined:
      return joined_lists(a, b);
    case KeywordMerge::schemas:
      return both_hold(a, b);
    case KeywordMerge::products:
      return merged_alternatives(as_list(a), as_list(b));
    case KeywordMerge::negations:
      return JsonObject{{"anyOf", joined_lists(negated_schemas(a), negated_schemas(b))}};
    case KeywordMerge::constants:
      if (equal_json(a, b)) return a;
      fail_without_values("values of `const` that exclude each other; got " + json_text(a) +
                          " and " + json_text(b));
    case KeywordMerge::declarations:
    case KeywordMerge::equal:
      break;
  }
  fail_unsupported("two values of `" + std::string(keyword.name) + "` that should both hold; got " +
                   json_text(a) + " and " + json_text(b) + ", expected equal values");
}

// What both say by a keyword that one of them has.
JsonValue merged_keyword(std::string_view key, const JsonObject& a, const JsonObject& b) {
  const JsonValue* left = find_key(a, key);
  const JsonValue* right = find_key(b, key);
  const Keyword* keyword = keyword_of(key);
  if (keyword != nullptr && keyword->merge == KeywordMerge::declarations) {
    return key == "prefixItems" ? JsonValue(merged_prefixes(a, b)) : merged_properties(key, a, b);
  }
  if (left == nullptr || right == nullptr) return left == nullptr ? *right : *left;
  return keyword == nullptr || *left == *right ? *left : merged_values(*keyword, *left, *right);
}

}  // namespace

void fail_schema(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, whole_message("json_schema: " + what));
}

void fail_unsupported(const std::string& what) {
  throw Error(ErrorCode::unsupported, whole_message("json_schema: " + what));
}

void fail_without_values(const std::string& what) {
  throw SchemaWithoutValues(whole_message("json_schema: " + what));
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

std::vector<std::string> texts_at(const JsonObject& schema, std::string_view key) {
  const JsonValue* value = find_key(schema, key);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  for (const JsonValue& one : as_list(*value)) {
    const auto* text = std::get_if<std::string>(&one);
    if (text == nullptr)
      fail_schema("`" + std::string(key) + "` is no text; got " + json_text(one));
    out.push_back(*text);
  }
  return out;
}

std::string text_of(const JsonObject& schema, std::initializer_list<std::string_view> keys) {
  JsonObject out;
  for (const std::string_view key : keys) {
    if (const JsonValue* value = find_key(schema, key)) out.emplace_back(std::string(key), *value);
  }
  return json_text(out);
}

JsonValue both_hold(const JsonValue& a, const JsonValue& b) {
  if (a == b || b == JsonValue(true)) return a;
  if (a == JsonValue(true)) return b;
  if (a == JsonValue(false) || b == JsonValue(false)) return false;
  return JsonObject{{"allOf", JsonArray{a, b}}};
}

JsonObject merged_schemas(const JsonObject& a, const JsonObject& b) {
  JsonObject out;
  for (const auto& [key, value] : a) out.emplace_back(key, merged_keyword(key, a, b));
  for (const auto& [key, value] : b) {
    if (find_key(a, key) == nullptr) out.emplace_back(key, merged_keyword(key, a, b));
  }
  return out;
}

}  // namespace hearth::models::grammar
