// JSON as Python writes it, whose numbers may be NaN, Infinity and -Infinity.
#pragma once

#include <optional>
#include <string>

#include "core/json.h"

namespace hearth {

// parse_json() of a text that may have these words, which transformers puts into configurations.
std::optional<JsonValue> parse_python_json(const std::string& text, JsonFault* fault = nullptr);

}  // namespace hearth
