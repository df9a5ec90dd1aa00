// The input of OpenAI's Responses API as the messages of a chat.
#pragma once

#include "core/json.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/field_names.h"

namespace hearth::tools::serve {

// Of `instructions` and the items of `input`; what the assistant thought, said and called is one
// message. `names` gets where the parts of each came from. Throws FieldError, for items and parts
// that are no text, too.
JsonArray messages_of_response(const Fields& fields, FieldNames& names);

}  // namespace hearth::tools::serve
