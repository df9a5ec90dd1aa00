// Text for HTML, as markupsafe escapes it.
#pragma once

#include "models/chat_template/marked_text.h"

namespace hearth::models::chat_template {

inline MarkedText html_escaped(const MarkedText& text) {
  MarkedText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const bool is_input = text.is_input_at(at);
    switch (c) {
      case '&':
        out.append("&amp;", is_input);
        break;
      case '<':
        out.append("&lt;", is_input);
        break;
      case '>':
        out.append("&gt;", is_input);
        break;
      case '\'':
        out.append("&#39;", is_input);
        break;
      case '"':
        out.append("&#34;", is_input);
        break;
      default:
        out.append(text.view().substr(at, 1), is_input);
    }
  }
  return out;
}

}  // namespace hearth::models::chat_template
