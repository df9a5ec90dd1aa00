// Which numbers a schema allows.
#pragma once

#include <string>

#include "core/json.h"
#include "models/grammar/schema_rules.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// The rule of the numbers, or integers, that a schema allows by bounds, multipleOf and plain `not`;
// with the latter two they have no exponents. Throws SchemaWithoutValues where there are none,
// Error{unsupported} for what is too large together.
std::string number_rule(bool is_whole, const JsonObject& schema, SchemaRules& rules,
                        AutomatonSteps& steps);

}  // namespace hearth::models::grammar
