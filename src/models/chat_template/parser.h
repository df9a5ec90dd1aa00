// Templates as trees.
#pragma once

#include <string_view>

#include "models/chat_template/syntax.h"

namespace hearth::models::chat_template {

// Throws Error{invalid_argument}, which names the line, for what is no template, and for one whose
// expressions or blocks stand too deep within one another.
Statements parse_template(std::string_view source);

}  // namespace hearth::models::chat_template
