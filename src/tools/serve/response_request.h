// Requests of OpenAI's Responses API as those of chats.
#pragma once

#include "core/json.h"
#include "tools/chat_json/fields.h"

namespace hearth::tools::serve {

// The fields of /v1/chat/completions that ask the same: instructions and the items of `input` are
// messages, tools and formats are written as chats have them, and fields of another name keep it.
// Throws FieldError for what needs answers of earlier requests, for tools that are no functions,
// and for inputs that are no text.
JsonObject chat_fields_of_response(const Fields& fields);

}  // namespace hearth::tools::serve
