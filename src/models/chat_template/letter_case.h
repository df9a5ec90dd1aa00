// Texts in other letters, as the methods of Python's str make them.
#pragma once

#include "models/chat_template/marked_text.h"

namespace hearth::models::chat_template {

enum class Letters {
  lower,
  upper,
  fold,     // casefold()
  swapped,  // swapcase()
  title,    // words begin behind what is no letter
  capital,  // the first as in a title, all others lower
};

// One letter may become three; each keeps the mark of the one that it comes from. A capital sigma
// that ends a word becomes a final one.
MarkedText in_letters(const MarkedText& text, Letters letters);

}  // namespace hearth::models::chat_template
