// Fields that other servers have and this one has not: to ignore them would answer something else
// than was asked for.
#pragma once

#include <span>
#include <string_view>

#include "core/json.h"
#include "tools/chat_json/fields.h"

namespace hearth::tools::serve {

struct UnsupportedField {
  std::string_view name;
  bool (*asks_nothing)(const JsonValue& value);  // so that it may be there
  const char* expected;                          // in its place
};

// Values that ask for nothing, besides null.
bool never(const JsonValue& value);     // none
bool is_empty(const JsonValue& value);  // false, 0, "", [] and {}
bool is_false(const JsonValue& value);
bool is_true(const JsonValue& value);
bool is_one(const JsonValue& value);

// Throws FieldError for the first that is there and asks for something.
void refuse_unsupported(const Fields& fields, std::span<const UnsupportedField> list);

// The same of those of all requests for texts.
void refuse_unsupported(const Fields& fields);

}  // namespace hearth::tools::serve
