#include "tools/chat_json/chat_messages.h"

#include <string>
#include <string_view>
#include <utility>

#include "tools/chat_json/field_error.h"
#include "tools/chat_json/text_parts.h"

namespace hearth::tools {
namespace {

constexpr std::size_t kMostMessages = 4096;
constexpr std::size_t kMostCalls = 128;
constexpr std::string_view kPartTypes[] = {"text"};

models::ToolCall read_call(const JsonValue& value, const std::string& path) {
  const Fields call(object_of(value, path), path + ".");
  const Fields inside(call.required_object("function"), path + ".function.");
  std::string name = inside.required_text("name");
  const JsonValue* given = inside.find("arguments");
  const auto* text = given == nullptr ? nullptr : std::get_if<std::string>(given);
  return {.id = call.text("id").value_or(""),
          .name = std::move(name),
          .arguments = text != nullptr    ? *text
                       : given != nullptr ? json_text(*given)
                                          : "{}"};
}

models::ChatMessage read_message(const JsonValue& value, const std::string& path) {
  const Fields fields(object_of(value, path), path + ".");
  models::ChatMessage message{.role = fields.text("role").value_or(""), .content = ""};
  if (message.role == "developer") message.role = "system";
  const bool is_answer = message.role == "assistant";
  if (message.role != "system" && message.role != "user" && !is_answer && message.role != "tool") {
    throw bad_field(path + ".role", "is not known; got " + shown(message.role) +
                                        ", expected system, developer, user, assistant or tool");
  }
  const auto content = read_text_parts(fields, "content", kPartTypes);
  if (!content && !is_answer) throw missing_field(path + ".content", "a string or parts");
  message.content = content.value_or("");
  message.name = fields.text("name").value_or("");
  message.tool_call_id = fields.text("tool_call_id").value_or("");
  message.reasoning = fields.text("reasoning_content").value_or("");
  const JsonArray* calls = fields.array("tool_calls", kMostCalls);
  if (calls != nullptr && !calls->empty() && !is_answer) {
    throw bad_field(path + ".tool_calls", "of another than the assistant; got role " +
                                              shown(message.role) + ", expected \"assistant\"");
  }
  for (std::size_t i = 0; calls != nullptr && i < calls->size(); ++i) {
    message.tool_calls.push_back(
        read_call((*calls)[i], path + ".tool_calls[" + std::to_string(i) + "]"));
  }
  return message;
}

}  // namespace

std::vector<models::ChatMessage> read_chat_messages(const Fields& fields) {
  const JsonArray* list = fields.array("messages", kMostMessages);
  if (list == nullptr || list->empty()) {
    throw bad_field("messages", "is missing or empty; expected at least one message");
  }
  std::vector<models::ChatMessage> messages;
  for (const JsonValue& each : *list) {
    messages.push_back(read_message(each, "messages[" + std::to_string(messages.size()) + "]"));
  }
  return messages;
}

}  // namespace hearth::tools
