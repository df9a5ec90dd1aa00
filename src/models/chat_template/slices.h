// Slices of lists and texts.
#pragma once

#include <cstdint>
#include <optional>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

struct SliceBounds {
  std::optional<std::int64_t> begin, end, step;
};

// As `value[begin:end:step]` of Python; of texts by characters. Throws Error{invalid_argument} for
// what has no slices and for a step of 0.
Value sliced(Context& context, const Value& value, const SliceBounds& bounds);

}  // namespace hearth::models::chat_template
