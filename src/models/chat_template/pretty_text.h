// Values as Python's pprint lays them out.
#pragma once

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

// What fits in 80 columns as repr() has it, other values in lines; keys of dicts in order. Throws
// Error{invalid_argument} for tuples among keys that have no order.
MarkedText pretty_text(Context& context, const Value& value);

}  // namespace hearth::models::chat_template
