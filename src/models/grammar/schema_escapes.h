// What the escapes of patterns that stand for classes of characters match.
#pragma once

#include "models/grammar/syntax.h"

namespace hearth::models::grammar {

// Dialects of patterns differ beyond ASCII: what all of them have of a class, and what any has.
enum class Escapes { narrowest, widest };

// Of \d \D \w \W \s \S, by its letter. The widest \w has what lies between letters close to each
// other as well, which the narrowest \W lacks.
CodeRanges escaped_class(char letter, Escapes escapes);

}  // namespace hearth::models::grammar
