// Removes Metal's address spaces for targets that have none.
#pragma once

#include <vector>

#include "codegen/text/text_edits.h"
#include "codegen/text/tokens.h"

namespace hearth::gpu {

// Of definitions that differ in address spaces only, all but the first are removed; so are the
// address space of a member function, and one of `const` and `constant`, which are both const. The
// remaining words are the prelude's macros. `tokens` are parts of the text that is edited.
void erase_address_spaces(const std::vector<Token>& tokens, TextEdits& edits);

}  // namespace hearth::gpu
