// The messages of a conversation, as OpenAI's API has them.
#pragma once

#include <string>
#include <vector>

namespace hearth::models {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON, an object in most cases
};

struct ChatMessage {
  std::string role;  // system, developer, user, assistant, tool
  std::string content;
  std::string name = {};                  // of who speaks, or of the tool; empty: none
  std::vector<ToolCall> tool_calls = {};  // of the assistant
  std::string tool_call_id = {};          // of a tool's answer
  std::string reasoning = {};             // of the assistant, before the content
};

}  // namespace hearth::models
