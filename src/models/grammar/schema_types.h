// What the keywords of a schema say of the types of its values.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace hearth::models::grammar {

// Throws Error{unsupported} with the name of a keyword that restricts and that no grammar here
// holds to.
void check_keywords(const JsonObject& schema);

// Those that `type` names, or that the other keywords are about; "any" where none says.
std::vector<std::string> types_of(const JsonObject& schema);

// Those of types_of() that `not` leaves. Throws SchemaWithoutValues where it leaves none.
std::vector<std::string> types_left(const JsonObject& schema);

// Equal as the standard has it: numbers by value, objects in any order.
bool equal_json(const JsonValue& a, const JsonValue& b);
// Whether one of the values is equal to it.
bool holds(const JsonArray& values, const JsonValue& value);

bool has_type(const JsonValue& value, const std::string& type);

}  // namespace hearth::models::grammar
