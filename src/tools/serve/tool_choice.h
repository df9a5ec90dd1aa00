// The functions that a chat may call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "models/chat/call_grammar.h"
#include "tools/chat_json/fields.h"

namespace hearth::tools::serve {

inline constexpr std::size_t kMostTools = 128;

struct ToolChoice {
  JsonValue tools = nullptr;  // what the template is given; null: none
  // Set where the model has to call one: the schema of {"name": ..., "arguments": {...}}.
  std::optional<JsonValue> call_schema;
  std::vector<models::CallableTool> callable;  // where it may, or may not
  bool may_call_several = true;
};

// Of `tools`, `tool_choice` (auto, none, required, or one by its name) and `parallel_tool_calls`.
// Throws FieldError.
ToolChoice read_tool_choice(const Fields& fields);

}  // namespace hearth::tools::serve
