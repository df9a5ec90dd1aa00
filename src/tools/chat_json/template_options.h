// What a chat template is asked for beside messages and tools, by requests and by
// `hearth render-template`: one set of names and defaults.
#pragma once

#include "models/chat/chat_format.h"
#include "tools/chat_json/fields.h"

namespace hearth::tools {

// The names that read_template_options() reads.
bool is_template_option(std::string_view name);

// Of `add_generation_prompt` [true, without the next], `continue_final_message` [false], `now`,
// local time in seconds since 1970 [the clock's], the object `chat_template_kwargs` and
// `reasoning_effort`, which templates know as an argument; without tools. What is not given is the
// template's own to choose, such as whether a model thinks. Throws FieldError.
models::ChatOptions read_template_options(const Fields& fields);

}  // namespace hearth::tools
