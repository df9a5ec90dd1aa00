// Lines of at most a width, as Python's textwrap makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

struct WrapOptions {
  std::int64_t width;  // in characters
  bool breaks_long_words, breaks_at_hyphens;
};

// Calls visit() for the lines of text without line breaks, and returns how many there are: none of
// an empty one. White space at the ends of lines is dropped, but for that at the very beginning.
// Throws Error{invalid_argument} unless the width is positive.
std::size_t each_wrapped_line(Context& context, const MarkedText& text, const WrapOptions& options,
                              const std::function<void(const MarkedText& line)>& visit);

}  // namespace hearth::models::chat_template
