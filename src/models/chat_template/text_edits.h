// What Python does with texts, for methods and filters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

enum class Side { left, right, both };

// Without white space, or without the characters of `characters`.
MarkedText stripped(const MarkedText& text, const std::optional<MarkedText>& characters, Side side);

// At white space, or at each `separator`, which must not be empty; at most `limit` times unless
// that is negative, from the right where `from_right`.
Values split(Context& context, const MarkedText& text, const std::optional<MarkedText>& separator,
             std::int64_t limit, bool from_right);

// At \n, \r, \r\n, \v, \f, \x1c to \x1e, \x85, U+2028 and U+2029.
Values split_lines(Context& context, const MarkedText& text, bool keeps_ends);
// The same, each handed over as soon as it is made and not kept.
void each_line(Context& context, const MarkedText& text, bool keeps_ends,
               const std::function<void(MarkedText line)>& visit);

MarkedText replaced(Context& context, const MarkedText& text, std::string_view from,
                    const MarkedText& to, std::int64_t limit);

// In the middle or at one side of `width` characters.
MarkedText padded(Context& context, const MarkedText& text, std::int64_t width,
                  const MarkedText& fill, Side side);

}  // namespace hearth::models::chat_template
