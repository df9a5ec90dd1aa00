// What a run of bytes consists of, in 32 bits: so that a walk over a vocabulary knows at a prefix
// whether all that follows is of kinds that do not lead away from where it is.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/grammar/positions.h"

namespace hearth::models::grammar {

using ByteKinds = std::uint32_t;

// Bytes that are no part of a code point that is whole: what they lead to is not asked for.
inline constexpr ByteKinds kBrokenBytes = ByteKinds{1} << 31;

// Of each suffix of the text, that of its end, which has none, among them.
std::vector<ByteKinds> kinds_of_suffixes(std::string_view text);

// The kinds of which every byte, or every whole code point of several, leads from the set back to
// it. Throws what Positions::after() throws.
ByteKinds kinds_that_stay(Positions* positions, SetId set);

}  // namespace hearth::models::grammar
