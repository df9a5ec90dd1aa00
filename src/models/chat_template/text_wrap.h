// Lines of at most a width, as Python's textwrap makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

struct WrapOptions {
  std::int64_t width;  // in characters
  bool breaks_long_words, breaks_at_hyphens;
};

// Of text without line breaks; none of an empty one. White space at the ends of lines is dropped,
// but for that at the very beginning. Throws Error{invalid_argument} unless the width is positive.
std::vector<MarkedText> wrapped_lines(Context& context, const MarkedText& text,
                                      const WrapOptions& options);

}  // namespace hearth::models::chat_template
