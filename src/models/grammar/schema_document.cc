#include "models/grammar/schema_document.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/grammar/schema_bounds.h"
#include "models/grammar/schema_exclusive.h"
#include "models/grammar/schema_keywords.h"
#include "models/grammar/schema_merge.h"
#include "models/grammar/schema_negation.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxExpansions = 20'000;  // of schemas with what they refer to

std::string unescaped(const std::string& step) {
  std::string out;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const auto digits = step.substr(std::min(i + 1, step.size()), 2);
    if (step[i] == '~' && i + 1 < step.size() && (step[i + 1] == '0' || step[i + 1] == '1')) {
      out += step[++i] == '0' ? '~' : '/';
    } else if (step[i] == '%' && digits.size() == 2 &&
               digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
      out += static_cast<char>(std::stoi(digits, nullptr, 16));
      i += 2;
    } else {
      out += step[i];
    }
  }
  return out;
}

// OpenAPI's nullable widens the type that stands beside it, and without one says nothing.
bool is_nullable_type(const JsonObject& schema) {
  const JsonValue* nullable = find_key(schema, "nullable");
  return nullable != nullptr && *nullable == JsonValue(true);
}

JsonValue with_null(const JsonValue& type) {
  const JsonValue null = std::string("null");
  JsonArray types;
  if (const auto* several = std::get_if<JsonArray>(&type)) {
    types = *several;
  } else {
    types.push_back(type);
  }
  if (std::find(types.begin(), types.end(), null) == types.end()) types.push_back(null);
  return types;
}

// The keywords that expanded() leaves, as they count beside those of other schemas.
JsonObject plain_keywords(const JsonObject& schema) {
  JsonObject out;
  for (const auto& [key, value] : schema) {
    const Keyword* keyword = keyword_of(key);
    if (keyword != nullptr &&
        (keyword->use == KeywordUse::combined || keyword->use == KeywordUse::replaced)) {
      continue;
    }
    // Several of one keyword are a list of them from here on, which none in the document is.
    if ((key == "pattern" || key == "format") && !std::holds_alternative<std::string>(value)) {
      fail_schema("`" + key + "` is no text; got " + json_text(value));
    }
    if (key == "multipleOf" && std::holds_alternative<JsonArray>(value)) {
      fail_schema("`multipleOf` is no number; got " + json_text(value));
    }
    if (key == "minContains" || key == "maxContains") {
      if (find_key(schema, "contains") != nullptr) out.emplace_back(key, value);
    } else if (key == "type" && is_nullable_type(schema)) {
      out.emplace_back(key, with_null(value));
    } else {
      out.emplace_back(key, value);
    }
  }
  if (find_key(out, "contains") != nullptr && find_key(out, "minContains") == nullptr) {
    out.emplace_back("minContains", std::int64_t{1});
  }
  return with_numeric_bounds(std::move(out));
}

const JsonObject& members_of(const JsonValue& value, std::string_view key) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) {
    fail_schema("`" + std::string(key) + "` is no object; got " + json_text(value));
  }
  return *object;
}

// By additionalProperties what is said of properties that nothing declares: schemas around this one
// may declare others, of which it does not know. Alternatives may declare them, too.
JsonObject with_known_properties(JsonObject schema) {
  if (find_key(schema, "anyOf") != nullptr) return schema;
  const bool is_known = find_key(schema, "additionalProperties") != nullptr;
  if (is_known) {
    std::erase_if(schema,
                  [](const auto& member) { return member.first == "unevaluatedProperties"; });
  }
  for (auto& [key, value] : schema) {
    if (key == "unevaluatedProperties") key = "additionalProperties";
  }
  return schema;
}

JsonObject any_of(JsonArray alternatives) { return {{"anyOf", std::move(alternatives)}}; }

// Schemas that say by anyOf what if, dependentRequired and their like say.
JsonArray conditions_of(const JsonObject& schema) {
  JsonArray out;
  if (const JsonValue* condition = find_key(schema, "if")) {
    const auto branch = [&](const char* key) {
      const JsonValue* value = find_key(schema, key);
      return value == nullptr ? JsonValue(true) : *value;
    };
    const JsonValue first = branch("then"), second = branch("else");
    if (first != JsonValue(true) || second != JsonValue(true)) {
      out.push_back(
          any_of({JsonObject{{"allOf", JsonArray{*condition, first}}},
                  JsonObject{{"allOf", JsonArray{JsonObject{{"not", *condition}}, second}}}}));
    }
  }
  // Either the property is not there, or what depends on it holds.
  for (const char* key : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const JsonValue* dependent = find_key(schema, key);
    if (dependent == nullptr) continue;
    for (const auto& [name, needs] : members_of(*dependent, key)) {
      const bool is_list = std::holds_alternative<JsonArray>(needs);
      out.push_back(any_of(
          {JsonObject{{"properties", JsonObject{{name, false}}}},
           JsonObject{{"required", JsonArray{name}},
                      {"allOf",
                       JsonArray{is_list ? JsonValue(JsonObject{{"required", needs}}) : needs}}}}));
    }
  }
  return out;
}

}  // namespace

const JsonValue& SchemaDocument::target(const std::string& reference) const {
  const auto lost = [&]() -> const JsonValue& {
    fail_schema("reference to nothing; got $ref `" + reference +
                "`, expected a place in this document, such as #/$defs/name");
  };
  if (reference.empty() || reference[0] != '#') return lost();
  const JsonValue* at = &root_;
  for (std::size_t begin = 1; begin < reference.size();) {
    if (reference[begin] != '/') return lost();
    const std::size_t end = std::min(reference.find('/', begin + 1), reference.size());
    const std::string step = unescaped(reference.substr(begin + 1, end - begin - 1));
    if (const auto* object = std::get_if<JsonObject>(at)) {
      at = find_key(*object, step);
    } else if (const auto* list = std::get_if<JsonArray>(at)) {
      if (step.empty() || step.size() > 6 ||
          step.find_first_not_of("0123456789") != std::string::npos) {
        return lost();
      }
      const auto index = static_cast<std::size_t>(std::stoul(step));
      at = index < list->size() ? &(*list)[index] : nullptr;
    } else {
      at = nullptr;
    }
    if (at == nullptr) return lost();
    begin = end;
  }
  return *at;
}

void SchemaDocument::count_expansion() {
  if (++expansions_ > kMaxExpansions) {
    fail_unsupported("schema too large; got more than " + std::to_string(kMaxExpansions) +
                     " schemas with all references, expected less");
  }
}

JsonObject SchemaDocument::expanded(const JsonValue& schema, int depth) {
  if (depth > kMaxSchemaDepth) {
    fail_unsupported("nested too deep; got more than " + std::to_string(kMaxSchemaDepth) +
                     " levels or a cycle of $ref that must hold at once, expected less");
  }
  count_expansion();
  if (schema == JsonValue(true)) return {};
  if (schema == JsonValue(false)) fail_without_values("schema without values; got false");
  const auto* object = std::get_if<JsonObject>(&schema);
  if (object == nullptr) {
    fail_schema("no schema; got " + json_text(schema) + ", expected an object, true or false");
  }
  JsonObject out = plain_keywords(*object);
  for (const char* key : {"anyOf", "oneOf"}) {
    const JsonArray* list = list_at(*object, key);
    if (list == nullptr) continue;
    const bool is_exclusive = key == std::string_view("oneOf");
    out = merged_schemas(out, {{"anyOf", is_exclusive ? exclusive_schemas(*list, *this) : *list}});
  }
  const auto add = [&](const JsonValue& part) {
    out = merged_schemas(out, expanded(part, depth + 1));
  };
  if (const JsonValue* ref = find_key(*object, "$ref")) {
    const auto* text = std::get_if<std::string>(ref);
    if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(*ref));
    add(target(*text));
  }
  if (const JsonArray* all = list_at(*object, "allOf")) {
    for (const JsonValue& part : *all) add(part);
  }
  if (const JsonValue* negation = find_key(*object, "not")) {
    if (!is_plain_negation(*negation)) {
      add(negated_schema(*negation, *this, depth + 1));
    } else {
      out = merged_schemas(out, {{"not", *negation}});
      // What is no text matches any pattern.
      if (!excluded_by({{"not", *negation}}).patterns.empty()) {
        out = merged_schemas(out, {{"type", std::string("string")}});
      }
    }
  }
  for (const JsonValue& choice : conditions_of(*object)) add(choice);
  return with_known_properties(std::move(out));
}

}  // namespace hearth::models::grammar
