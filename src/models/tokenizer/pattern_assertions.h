// Assertions of patterns as tables that read a text from its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/tokenizer/pattern_program.h"

namespace hearth::models::tokens {

// [state, symbol]: the next state << 1 | whether the assertion holds before the code point. State 0
// stands behind the end of a text. A symbol is a class of code points, the last one for the end of
// the text, plus the number of classes times the bits of the assertions before this one.
// `contents` [class, set]: whether the code points of a class, all but the last, are in a set.
// Nothing: too many states.
std::optional<std::vector<std::uint32_t>> assertion_table(
    const PatternProgram& program, std::size_t index,
    const std::vector<std::vector<bool>>& contents);

}  // namespace hearth::models::tokens
