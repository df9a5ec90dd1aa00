// Ranges of numbers as grammars of their decimal texts.
#pragma once

#include <optional>
#include <string>

#include "models/grammar/schema_bounds.h"

namespace hearth::models::grammar {

// Whether numbers without a limit have a limit of digits, so that none goes on for ever.
enum class Digits { counted, any };

// An expression of GBNF for the whole numbers, or all numbers, within the bounds. Throws
// SchemaWithoutValues where there are none.
std::string integer_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high,
                            Digits digits = Digits::counted);
std::string number_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high,
                           Digits digits = Digits::counted);

}  // namespace hearth::models::grammar
