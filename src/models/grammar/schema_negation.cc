#include "models/grammar/schema_negation.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_keywords.h"
#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

JsonObject type_and(std::string_view type, JsonObject rest) {
  rest.insert(rest.begin(), {"type", std::string(type)});
  return rest;
}

JsonObject not_of(std::string_view key, JsonValue value) {
  return {{"not", JsonObject{{std::string(key), std::move(value)}}}};
}

const JsonObject& object_of(std::string_view key, const JsonValue& value) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) {
    fail_schema("`" + std::string(key) + "` is no object; got " + json_text(value));
  }
  return *object;
}

const JsonArray& list_of(std::string_view key, const JsonValue& value) {
  const auto* list = std::get_if<JsonArray>(&value);
  if (list == nullptr) {
    fail_schema("`" + std::string(key) + "` is no list; got " + json_text(value) +
                ", expected [...]");
  }
  return *list;
}

class Negation {
 public:
  explicit Negation(SchemaDocument& document) : document_(document) {}

  JsonValue of(const JsonValue& schema, int depth) const {
    if (depth > kMaxSchemaDepth) {
      fail_unsupported("`not` nested too deep; got more than " + std::to_string(kMaxSchemaDepth) +
                       " levels or a cycle of $ref, expected less");
    }
    document_.count_expansion();
    if (schema == JsonValue(true)) return false;
    if (schema == JsonValue(false)) return true;
    JsonArray parts;
    const JsonObject object = with_numeric_bounds(object_of("not", schema));
    for (const auto& [key, value] : object) {
      if (!is_annotation(key)) add(object, key, value, depth, &parts);
    }
    if (parts.empty()) return false;
    return parts.size() == 1 ? parts[0] : JsonValue(JsonObject{{"anyOf", std::move(parts)}});
  }

 private:
  void add(const JsonObject& schema, const std::string& key, const JsonValue& value, int depth,
           JsonArray* parts) const {
    const Keyword& keyword = *keyword_of(key);
    if (!keyword.opposite.empty()) {
      parts->push_back(opposite(keyword, schema));
    } else if (key == "type") {
      parts->push_back(not_of("type", nullable_type(schema, value)));
    } else if (key == "enum") {
      parts->push_back(not_of("enum", list_of(key, value)));
    } else if (key == "const") {
      parts->push_back(not_of("enum", JsonArray{value}));
    } else if (key == "pattern") {
      parts->push_back(type_and("string", not_of("pattern", value)));
    } else if (key == "required") {
      for (const JsonValue& name : list_of(key, value)) {
        const auto* text = std::get_if<std::string>(&name);
        if (text == nullptr) fail_schema("`required` of no name; got " + json_text(name));
        parts->push_back(type_and("object", {{"properties", JsonObject{{*text, false}}}}));
      }
    } else if (key == "properties") {
      for (const auto& [name, property] : object_of(key, value)) {
        const JsonValue negated = of(property, depth + 1);
        if (negated == JsonValue(false)) continue;
        parts->push_back(type_and("object", {{"required", JsonArray{name}},
                                             {"properties", JsonObject{{name, negated}}}}));
      }
    } else if (key == "items" && find_key(schema, "prefixItems") == nullptr) {
      parts->push_back(type_and("array", {{"contains", of(value, depth + 1)}}));
    } else if (key == "contains" && find_key(schema, "minContains") == nullptr &&
               find_key(schema, "maxContains") == nullptr) {
      parts->push_back(type_and("array", {{"items", of(value, depth + 1)}}));
    } else if (key == "not") {
      parts->push_back(value);
    } else if (key == "anyOf") {
      JsonArray all;
      for (const JsonValue& one : list_of(key, value)) all.push_back(of(one, depth + 1));
      parts->push_back(JsonObject{{"allOf", std::move(all)}});
    } else if (key == "allOf") {
      for (const JsonValue& one : list_of(key, value)) parts->push_back(of(one, depth + 1));
    } else if (key == "$ref") {
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(value));
      parts->push_back(of(document_.target(*text), depth + 1));
    } else {
      fail_unsupported("keyword not supported within `not` or `if`; got `" + key +
                       "`, expected one that can be said the other way");
    }
  }

  static JsonValue opposite(const Keyword& limit, const JsonObject& schema) {
    JsonValue bound = *find_key(schema, limit.name);
    if (limit.type != "number") {
      const bool is_least = limit.merge == KeywordMerge::larger;
      const std::int64_t count = count_of(schema, limit.name, 0) + (is_least ? -1 : 1);
      if (count < 0) return false;
      bound = count;
    }
    return type_and(limit.type, {{std::string(limit.opposite), bound}});
  }

  // OpenAPI's nullable is of the type.
  static JsonValue nullable_type(const JsonObject& schema, const JsonValue& type) {
    const JsonValue* nullable = find_key(schema, "nullable");
    if (nullable == nullptr || *nullable != JsonValue(true)) return type;
    const auto* several = std::get_if<JsonArray>(&type);
    JsonArray types = several != nullptr ? *several : JsonArray{type};
    types.emplace_back(std::string("null"));
    return types;
  }

  SchemaDocument& document_;
};

const JsonArray* alternatives_of(const JsonObject& schema) {
  const JsonValue* any = find_key(schema, "anyOf");
  return any == nullptr ? nullptr : std::get_if<JsonArray>(any);
}

}  // namespace

bool is_plain_negation(const JsonValue& schema) {
  const auto* object = std::get_if<JsonObject>(&schema);
  if (object == nullptr) return false;
  std::size_t keywords = 0;
  bool is_plain = true;
  for (const auto& [key, value] : *object) {
    if (key == "nullable") return false;
    if (is_annotation(key)) continue;
    ++keywords;
    const JsonArray* any = key == "anyOf" ? std::get_if<JsonArray>(&value) : nullptr;
    if (any != nullptr) {
      for (const JsonValue& one : *any) {
        const auto* each = std::get_if<JsonObject>(&one);
        is_plain = is_plain && each != nullptr && alternatives_of(*each) == nullptr &&
                   is_plain_negation(one);
      }
    } else {
      is_plain = is_plain && (key == "type" || key == "enum" || key == "const" || key == "pattern");
    }
  }
  return is_plain && keywords == 1;
}

Excluded excluded_by(const JsonObject& schema) {
  Excluded out;
  const auto add = [&](const JsonObject& negation) {
    if (const JsonArray* values = list_at(negation, "enum")) {
      out.values.insert(out.values.end(), values->begin(), values->end());
    }
    if (const JsonValue* value = find_key(negation, "const")) out.values.push_back(*value);
    for (const std::string& type : texts_at(negation, "type")) out.types.push_back(type);
    for (const std::string& pattern : texts_at(negation, "pattern")) {
      out.patterns.push_back(pattern);
    }
  };
  const JsonValue* negation = find_key(schema, "not");
  if (negation == nullptr) return out;
  const auto* object = std::get_if<JsonObject>(negation);
  if (object == nullptr) return out;
  add(*object);
  if (const JsonArray* any = alternatives_of(*object)) {
    for (const JsonValue& one : *any) {
      if (const auto* each = std::get_if<JsonObject>(&one)) add(*each);
    }
  }
  return out;
}

JsonValue negated_schema(const JsonValue& schema, SchemaDocument& document, int depth) {
  return Negation(document).of(schema, depth);
}

}  // namespace hearth::models::grammar
