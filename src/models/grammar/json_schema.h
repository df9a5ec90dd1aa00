// JSON Schema as a grammar of the JSON texts that are valid.
#pragma once

#include <string>

#include "core/json.h"
#include "models/grammar/schema_rules.h"

namespace hearth::models::grammar {

// The grammar, in GBNF, with the first rule `root`. All texts of it are valid, but for what oneOf
// and most formats say (below); where the schema leaves a choice that texts rarely need, the
// grammar is narrower:
// - properties come in the order of the schema, and where some are declared there are no others
//   unless additionalProperties says so;
// - prefixItems are all there, and followed by more only where items says so;
// - without `type` it follows from the keywords; oneOf means anyOf;
// - between tokens of JSON stand at most a blank, or a line break and 20 blanks.
//
// Of Draft 2020-12: type enum const anyOf oneOf allOf $ref (within the document) $defs properties
// required additionalProperties minProperties maxProperties items prefixItems minItems maxItems
// minLength maxLength pattern format (date, time, date-time, uuid; others are annotations) minimum
// maximum exclusiveMinimum exclusiveMaximum; OpenAPI's nullable adds null to a type beside it. A
// pattern is a regular expression without assertions inside and back references. Numbers of enum
// and const are integers of 64 bits, or below 2^53: larger ones are not kept exactly. Throws
// Error{unsupported} with the name of any other keyword that restricts in some draft, and of what
// cannot be combined; Error{invalid_argument} for what is no schema. All else is an annotation.
std::string gbnf_of_schema(const JsonValue& schema);

// The same of texts with JSON of several schemas in them.
class SchemaGrammar {
 public:
  // The name of the rule of the JSON texts of a schema. Throws as gbnf_of_schema().
  std::string add(const JsonValue& schema);
  // The grammar, in GBNF, of a root of these rules, and of `space` for what stands between tokens
  // of JSON.
  std::string text(const std::string& root) const { return rules_.text(root); }

 private:
  SchemaRules rules_;
};

}  // namespace hearth::models::grammar
