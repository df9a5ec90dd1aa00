// What `not` says, by keywords that grammars hold to.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "models/grammar/schema_document.h"

namespace hearth::models::grammar {

// What `not` leaves out of the values of a schema: those of types, those that are equal to one of
// the values, and texts that match one of the patterns.
struct Excluded {
  std::vector<std::string> types;
  JsonArray values;
  std::vector<std::string> patterns;
};

// Of a schema whose `not` is made of type, enum, const and pattern alone, as is_plain_negation()
// says.
Excluded excluded_by(const JsonObject& schema);
// Whether all that the schema of a `not` says is one of these keywords, or it is an anyOf of such.
bool is_plain_negation(const JsonValue& schema);

// A schema of all values that the other does not allow. Of `not` there are only plain ones left in
// it. Throws Error{unsupported} with the name of a keyword that cannot be said the other way.
JsonValue negated_schema(const JsonValue& schema, SchemaDocument& document, int depth);

}  // namespace hearth::models::grammar
