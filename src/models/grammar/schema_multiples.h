// Multiples of a number as an automaton of their decimal texts.
#pragma once

#include "models/grammar/schema_bounds.h"
#include "models/grammar/text_automaton.h"

namespace hearth::models::grammar {

// Whole and decimal numbers, with a sign or not, without exponents, and with no more digits behind
// the point than the divisor has. Any number of digits may stand before it, zeros too. Throws
// Error{invalid_argument} for a divisor that is not above 0, Error{unsupported} for one of too many
// digits.
TextAutomaton multiples_of(const Decimal& divisor, AutomatonSteps& steps);

}  // namespace hearth::models::grammar
