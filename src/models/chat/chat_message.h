// The messages of a conversation, as OpenAI's API has them.
#pragma once

#include "hearth/models/chat.h"

namespace hearth::models {

using hearth::ChatMessage;
using hearth::ToolCall;

}  // namespace hearth::models
