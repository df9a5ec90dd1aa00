// What is left of Metal's address spaces where a target has none.
#pragma once

#include <vector>

#include "codegen/text/text_edits.h"
#include "codegen/text/tokens.h"

namespace hearth::gpu {

// Takes out, of definitions that differ in address spaces alone, all but the first; the address
// space that a member function is for; and one of `const` and `constant`, which are both const. The
// words that are left are the prelude's macros. `tokens` are parts of the text that is edited.
void erase_address_spaces(const std::vector<Token>& tokens, TextEdits& edits);

}  // namespace hearth::gpu
