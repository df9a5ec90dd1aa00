// Addresses within a text as links of HTML, as jinja2 finds them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

struct LinkOptions {
  std::optional<std::int64_t> shown = std::nullopt;  // characters of an address that are shown
  MarkedText attributes = {};                        // of web links, each with a space before it
  std::vector<std::string> schemes = {};             // beside those of the web and of mail
};

// "tel:", "ftp://" and the like.
bool is_scheme(std::string_view text);

// `text` is escaped already.
MarkedText with_links(Context& context, const MarkedText& text, const LinkOptions& options);

}  // namespace hearth::models::chat_template
