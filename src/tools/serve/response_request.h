// Requests of OpenAI's Responses API as those of chats.
#pragma once

#include "core/json.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/field_names.h"

namespace hearth::tools::serve {

struct ChatOfResponse {
  // What is called otherwise in chats, or not theirs: null where the response says nothing of it.
  // The other fields of a chat are those of the response.
  JsonObject fields;
  FieldNames names;  // of the fields of the response, by those of the chat
};

// The chat that asks the same: instructions and the items of `input` are messages, tools and
// formats are written as chats have them. Throws FieldError for what needs answers of earlier
// requests, for tools that are no functions, and for inputs that are no text.
ChatOfResponse chat_of_response(const Fields& fields);

}  // namespace hearth::tools::serve
