// Values as text: as Python prints them, and as JSON.
#pragma once

#include <optional>
#include <string>

#include "core/json.h"
#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

// The shortest digits that read back, as Python's repr() lays them out: 1.0, 1e-05, 1e+16, inf.
std::string float_text(double value);

// str() and repr(): True, None, ['a', 1.5], {'k': "it's"}. Parts of input stay marked.
MarkedText printed(Context& context, const Value& value);
MarkedText represented(Context& context, const Value& value);
// printed(), without a copy of what is text already.
Text printed_text(Context& context, const Value& value);

struct JsonLayout {
  bool ensure_ascii = false;                                 // \uXXXX for what is not ASCII
  std::optional<std::string> indent;                         // of each level, with line breaks
  std::optional<std::string> item_separator, key_separator;  // ", " (or "," in lines) and ": "
  bool sort_keys = false;
};

// json.dumps() of Python. Throws Error{invalid_argument} for what JSON has not.
MarkedText json_of(Context& context, const Value& value, const JsonLayout& layout);

// Texts and keys are marked as input where `is_input`. Throws Error{invalid_argument} for integers
// of more than 63 bits.
Value value_of_json(Context& context, const JsonValue& json, bool is_input);

}  // namespace hearth::models::chat_template
