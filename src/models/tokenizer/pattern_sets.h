// Sets of code points, and how patterns write them.
#pragma once

#include <cstdint>

#include "models/tokenizer/pattern_text.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {

bool overlap(const CodeRanges& a, const CodeRanges& b);
// What \w is.
CodeRanges word_ranges();

// The readers throw as fail_pattern() does. `any_case`: what folds to the same belongs to the set.
CodeRanges one_code_point(std::uint32_t code, bool any_case, const PatternText& text);
// Behind the backslash.
CodeRanges read_escape(PatternText& text, bool any_case);
// Behind the bracket, up to the one that ends the set.
CodeRanges read_set(PatternText& text, bool any_case);

}  // namespace hearth::models::tokens
