// Calls of tools in the text of an answer.
#pragma once

#include <string_view>
#include <vector>

#include "models/chat/chat_message.h"

namespace hearth::models {

// The calls that a text consists of, without ids; none where it is anything else. Forms that models
// write: a JSON object or array of these with `name` and `arguments` or `parameters` (Hermes, Qwen,
// Llama 3, Mistral), `name{...}` and `name[ARGS]{...}` (Mistral), <function=name><parameter=key>
// (Qwen3-Coder), a name with <arg_key> and <arg_value> behind it (GLM), and a name and its
// arguments with DeepSeek's separator between them.
std::vector<ToolCall> parse_tool_calls(std::string_view text);

}  // namespace hearth::models
