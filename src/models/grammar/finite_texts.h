// What of a grammar leads to a text that ends.
#pragma once

#include "models/grammar/syntax.h"

namespace hearth::models::grammar {

// Takes away the alternatives that never end, as those that need a character of no range, or a rule
// that needs itself. The texts of the grammar stay the same. False where there are none: the root
// never ends; then nothing was changed.
bool keep_finite_texts(Syntax* syntax);

}  // namespace hearth::models::grammar
