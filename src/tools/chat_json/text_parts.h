// Texts that may come in parts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/chat_json/fields.h"

namespace hearth::tools {

// The text of the field `name`: a string, or parts joined, of which each has a `type` among these
// and a `text`; of an item whose `role` is the assistant's also "refusal", which has a `refusal`.
// Nothing where the field is not there. Throws FieldError.
std::optional<std::string> read_text_parts(const Fields& item, std::string_view name,
                                           std::span<const std::string_view> types);

}  // namespace hearth::tools
