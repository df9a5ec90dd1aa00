// Schemas that must hold together, as one.
#pragma once

#include <string>
#include <string_view>

#include "core/json.h"

namespace hearth::models::grammar {

// Errors of the functions that read schemas: `json_schema: what`.
[[noreturn]] void fail_schema(const std::string& what);       // Error{invalid_argument}
[[noreturn]] void fail_unsupported(const std::string& what);  // Error{unsupported}

// The value of a keyword that counts; `fallback` where it is absent.
std::int64_t count_of(const JsonObject& schema, std::string_view key, std::int64_t fallback);
// The list of a keyword; null where it is absent.
const JsonArray* list_at(const JsonObject& schema, std::string_view key);
// Whether a keyword restricts nothing.
bool is_annotation(std::string_view key) noexcept;

// A schema of what both allow; anyOf of both is multiplied out. Throws Error{unsupported} where
// there is no such schema in known keywords.
JsonObject merged_schemas(const JsonObject& a, const JsonObject& b);

}  // namespace hearth::models::grammar
