// Texts of characters as JSON writes them within quotes, in GBNF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/grammar/schema_rules.h"
#include "models/grammar/syntax.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// A code point within a class of GBNF.
std::string gbnf_code(std::uint32_t code);
// A text as a literal of GBNF.
std::string gbnf_literal(std::string_view text);

// A character of the ranges: itself, or an escape where it must. Empty where none can be written.
std::string json_class(const CodeRanges& ranges);

// The texts of an expression without rules and tokens. Throws Error{unsupported} for a character
// that cannot be written. Where all characters may stand, so do all escapes.
std::string json_texts(const Expression& texts, SchemaRules& rules);
// The rule of an automaton's texts, of one rule a state.
std::string json_texts(const TextAutomaton& texts, SchemaRules& rules);

}  // namespace hearth::models::grammar
