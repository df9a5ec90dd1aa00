// JSON Schema as a grammar of the JSON texts that are valid.
#pragma once

#include <string>

#include "core/json.h"
#include "models/grammar/schema_rules.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// The grammar, in GBNF, with the first rule `root`. All texts of it are valid, but that oneOf means
// anyOf where its schemas are not told apart by their types and listed values, or those of
// properties, or by properties that they require (schema_exclusive.h); where the schema leaves a
// choice that texts rarely need, the grammar is narrower:
// - properties come in the order of the schema, and where some are declared, by name or by pattern,
//   there are no others unless additionalProperties says so; names of others may be equal, so
//   that only one of these counts for minProperties;
// - prefixItems are all there, and followed by more only where items says so; distinct items of
//   more than six values come in the order of the schema;
// - without `type` it follows from the keywords;
// - numbers with multipleOf or not with values have no exponents;
// - numbers beside an exclusive bound do not round to it as doubles;
// - classes of patterns, such as \s and [^\s], have what all dialects have in them;
// - texts of a pattern or format are as long as automata of kMaxTextStates states count where a
//   maxLength stands beside it;
// - a text that a pattern must not match, and a name that is not of one, has no characters on which
//   dialects of patterns differ;
// - formats leave out rare texts (schema_formats.cc);
// - between tokens of JSON stand at most a blank, or a line break and 20 blanks.
//
// Of Draft 2020-12: type enum const anyOf oneOf allOf not if then else $ref (within the document)
// $defs; properties patternProperties propertyNames required additionalProperties
// unevaluatedProperties minProperties maxProperties dependentRequired dependentSchemas; items
// prefixItems contains minContains maxContains minItems maxItems uniqueItems (of an enum, of
// booleans, or with maxItems 1); minLength maxLength pattern format; minimum maximum
// exclusiveMinimum exclusiveMaximum (Draft 4's true and false, too) multipleOf (at most 10000
// without its point): schema_keywords.cc has all. OpenAPI's nullable adds null to a type beside it.
// What is in `not`, and in `if`, are those of these that can be said the other way
// (schema_negation.cc).
// Formats are all of the standard but regex; by other names they are annotations. A pattern is a
// regular expression without back references, and without assertions but (?!...) right behind ^.
// Numbers of enum and const are integers of 64 bits, or below 2^53: larger ones are not kept
// exactly; multiples are those of decimal numbers. Throws Error{unsupported} with the name of any
// other keyword that restricts in some draft, and of what cannot be combined;
// Error{invalid_argument} for what is no schema. All else is an annotation.
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
  AutomatonSteps steps_;
};

}  // namespace hearth::models::grammar
