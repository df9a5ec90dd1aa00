#include "models/grammar/schema_document.h"

#include <algorithm>

#include "models/grammar/schema_merge.h"

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

JsonObject SchemaDocument::expanded(const JsonValue& schema, int depth) {
  if (depth > kMaxSchemaDepth) {
    fail_unsupported("nested too deep; got more than " + std::to_string(kMaxSchemaDepth) +
                     " levels or a cycle of $ref that must hold at once, expected less");
  }
  if (++expansions_ > kMaxExpansions) {
    fail_unsupported("schema too large; got more than " + std::to_string(kMaxExpansions) +
                     " schemas with all references, expected less");
  }
  if (schema == JsonValue(true)) return {};
  if (schema == JsonValue(false)) fail_unsupported("schema without values; got false");
  const auto* object = std::get_if<JsonObject>(&schema);
  if (object == nullptr) {
    fail_schema("no schema; got " + json_text(schema) + ", expected an object, true or false");
  }
  JsonObject out;
  const bool is_nullable = is_nullable_type(*object);
  for (const auto& [key, value] : *object) {
    if (is_nullable && key == "type") {
      out.emplace_back(key, with_null(value));
    } else if (key != "$ref" && key != "allOf" && key != "oneOf" && key != "anyOf") {
      out.emplace_back(key, value);
    }
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    if (list_at(*object, key) == nullptr) continue;
    out = merged_schemas(out, {{"anyOf", *find_key(*object, key)}});
  }
  if (const JsonValue* ref = find_key(*object, "$ref")) {
    const auto* text = std::get_if<std::string>(ref);
    if (text == nullptr) fail_schema("`$ref` is no text; got " + json_text(*ref));
    out = merged_schemas(out, expanded(target(*text), depth + 1));
  }
  if (const JsonArray* all = list_at(*object, "allOf")) {
    for (const JsonValue& part : *all) out = merged_schemas(out, expanded(part, depth + 1));
  }
  return out;
}

}  // namespace hearth::models::grammar
