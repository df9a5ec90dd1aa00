// The messages of a chat as its format takes them.
#pragma once

#include <vector>

#include "models/chat/chat_message.h"
#include "tools/chat_json/fields.h"

namespace hearth::tools {

// Checks roles and types; texts in parts are joined, and the role "developer" is "system". Throws
// FieldError, for pictures and sounds too.
std::vector<models::ChatMessage> read_chat_messages(const Fields& fields);

}  // namespace hearth::tools
