// Which strings a schema allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/grammar/schema_document.h"
#include "models/grammar/schema_pattern.h"
#include "models/grammar/schema_rules.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// The rule of the JSON strings that a schema allows by pattern, format, lengths and plain `not`.
// Throws SchemaWithoutValues where there are none, Error{unsupported} for what is too large
// together. Beside others a maxLength is narrowed to what kMaxTextStates can count.
std::string string_rule(const JsonObject& schema, SchemaRules& rules, AutomatonSteps& steps);

// All strings that are valid by a schema, but for what formats and long texts leave out; nothing
// where all are. Throws Error{unsupported} for keywords that are not of strings.
std::optional<TextAutomaton> valid_texts(const JsonValue& schema, SchemaDocument& document,
                                         AutomatonSteps& steps, int depth);

// Exactly these.
TextAutomaton texts_of(const std::vector<std::string>& texts, AutomatonSteps& steps);
// Those that match.
TextAutomaton matching_texts(const Pattern& pattern, AutomatonSteps& steps);
// None that matches in some dialect of regular expressions.
TextAutomaton texts_without(const Pattern& pattern, AutomatonSteps& steps);

// An operator of repetition; without an upper limit where `most` is -1. Throws Error{unsupported}
// with the name of the keyword, min or max and `what`, of a number that is too large, and
// SchemaWithoutValues where nothing is in range.
std::string times(std::int64_t least, std::int64_t most, const char* what);
// Of that the latter alone.
void check_range(std::int64_t least, std::int64_t most, const char* what);

}  // namespace hearth::models::grammar
