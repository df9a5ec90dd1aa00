// Text for HTML, as markupsafe has it.
#pragma once

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

// With references for & < > ' and ".
MarkedText html_escaped(const MarkedText& text);

// Without comments and what stands between < and >, as far as they are closed.
MarkedText without_tags(Context& context, const MarkedText& text);

// References of characters as these, by the rules of HTML 5: numbers, and the names of Latin-1,
// which go without a semicolon. Throws Error{invalid_argument} for other names with one, which are
// not known here.
MarkedText html_unescaped(Context& context, const MarkedText& text);

}  // namespace hearth::models::chat_template
