// Ranges of numbers as grammars of their decimal texts.
#pragma once

#include <optional>
#include <string>

#include "models/grammar/schema_bounds.h"

namespace hearth::models::grammar {

// An expression of GBNF for the whole numbers, or all numbers, within the bounds. Throws
// Error{unsupported} where there are none.
std::string integer_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high);
std::string number_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high);

}  // namespace hearth::models::grammar
