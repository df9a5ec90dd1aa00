// Schemas that must hold together, as one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "hearth/error.h"

namespace hearth::models::grammar {

// Errors of the functions that read schemas: `json_schema: what`.
[[noreturn]] void fail_schema(const std::string& what);       // Error{invalid_argument}
[[noreturn]] void fail_unsupported(const std::string& what);  // Error{unsupported}

// Of a schema that surely has no values: an alternative, or a property that may be left out, is
// none then.
struct SchemaWithoutValues : Error {
  explicit SchemaWithoutValues(const std::string& message)
      : Error(ErrorCode::unsupported, message) {}
};
[[noreturn]] void fail_without_values(const std::string& what);

// The value of a keyword that counts; `fallback` where it is absent.
std::int64_t count_of(const JsonObject& schema, std::string_view key, std::int64_t fallback);
// The list of a keyword; null where it is absent.
const JsonArray* list_at(const JsonObject& schema, std::string_view key);
// The texts of a keyword that is one, or of several schemas together a list of them.
std::vector<std::string> texts_at(const JsonObject& schema, std::string_view key);
// The text of a schema of these keywords alone.
std::string text_of(const JsonObject& schema, std::initializer_list<std::string_view> keys);

// A schema of what both of them allow.
JsonValue both_hold(const JsonValue& a, const JsonValue& b);

// A schema of what both allow; anyOf of both is multiplied out. Throws Error{unsupported} where
// there is no such schema in known keywords.
JsonObject merged_schemas(const JsonObject& a, const JsonObject& b);

}  // namespace hearth::models::grammar
