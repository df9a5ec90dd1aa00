// The word that was probably meant by a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hearth {

// The word that fewest edits turn `word` into: one letter put in, left out or changed, or two
// neighbours swapped. Empty where that takes more than one, and more than a fourth of its letters.
std::string closest(std::string_view word, std::span<const std::string> words);

}  // namespace hearth
