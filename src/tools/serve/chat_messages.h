// The messages of a chat as templates take them.
#pragma once

#include "core/json.h"
#include "tools/serve/fields.h"

namespace hearth::tools::serve {

// Checks roles and types; texts in parts are joined, arguments of calls become objects, and the
// role "developer" is "system". Throws ApiError, for pictures and sounds too.
JsonArray read_chat_messages(const Fields& fields);

}  // namespace hearth::tools::serve
