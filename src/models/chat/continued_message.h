// Prompts that end within a message, which the answer goes on with.
#pragma once

#include <string_view>

#include "models/chat_template/chat_template.h"

namespace hearth::models {

// Ends the prompt right behind `content`, that of its last message, as the template wrote it: one
// that drops the spaces around it does so here, too. Throws Error{invalid_argument} where the
// content is nothing but spaces, and where the last input in the prompt does not have it.
void end_behind(RenderedPrompt& prompt, std::string_view content);

}  // namespace hearth::models
