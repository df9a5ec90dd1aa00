#include "tools/chat_json/chat_messages.h"

#include <optional>
#include <string>

#include "tools/chat_json/field_error.h"

namespace hearth::tools {
namespace {

constexpr std::size_t kMostMessages = 4096;
constexpr std::size_t kMostParts = 4096;
constexpr std::size_t kMostCalls = 128;

// A text, parts of texts and, of the assistant, of refusals, or nothing.
std::optional<std::string> read_content(const Fields& message) {
  const JsonValue* content = message.find("content");
  if (content == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(content)) return *text;
  if (!std::holds_alternative<JsonArray>(*content)) {
    message.wrong_type("content", "a string or an array of parts");
  }
  std::string joined;
  const JsonArray& parts = *message.array("content", kMostParts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto* part = std::get_if<JsonObject>(&parts[i]);
    if (part == nullptr) message.wrong_type("content", "parts that are objects");
    const Fields fields(*part, message.path("content") + "[" + std::to_string(i) + "].");
    const std::string type = fields.text("type").value_or("");
    const bool is_refusal = type == "refusal" && message.text("role") == "assistant";
    if (type != "text" && !is_refusal) {
      throw bad_field(message.path("content"),
                      "a part of a kind that the model does not take; got " + json_text(type) +
                          ", expected \"text\"");
    }
    const char* name = is_refusal ? "refusal" : "text";
    const auto text = fields.text(name);
    if (!text) throw bad_field(fields.path(name), "is missing");
    joined += *text;
  }
  return joined;
}

models::ToolCall read_call(const JsonValue& value, const std::string& path) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) throw bad_field(path, "is of the wrong type; expected an object");
  const Fields call(*object, path + ".");
  const JsonObject* function = call.object("function");
  if (function == nullptr) throw bad_field(path + ".function", "is missing");
  const Fields inside(*function, path + ".function.");
  const auto name = inside.text("name");
  if (!name) throw bad_field(path + ".function.name", "is missing");
  const JsonValue* given = inside.find("arguments");
  const auto* text = given == nullptr ? nullptr : std::get_if<std::string>(given);
  return {.id = call.text("id").value_or(""),
          .name = *name,
          .arguments = text != nullptr    ? *text
                       : given != nullptr ? json_text(*given)
                                          : "{}"};
}

models::ChatMessage read_message(const JsonValue& value, const std::string& path) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) throw bad_field(path, "is of the wrong type; expected an object");
  const Fields fields(*object, path + ".");
  models::ChatMessage message{.role = fields.text("role").value_or(""), .content = ""};
  if (message.role == "developer") message.role = "system";
  const bool is_answer = message.role == "assistant";
  if (message.role != "system" && message.role != "user" && !is_answer && message.role != "tool") {
    throw bad_field(path + ".role", "is not known; got " + json_text(message.role) +
                                        ", expected system, developer, user, assistant or tool");
  }
  const auto content = read_content(fields);
  if (!content && !is_answer) throw bad_field(path + ".content", "is missing");
  message.content = content.value_or("");
  message.name = fields.text("name").value_or("");
  message.tool_call_id = fields.text("tool_call_id").value_or("");
  message.reasoning = fields.text("reasoning_content").value_or("");
  const JsonArray* calls = fields.array("tool_calls", kMostCalls);
  if (calls != nullptr && !calls->empty() && !is_answer) {
    throw bad_field(path + ".tool_calls", "of another than the assistant");
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
  if (list == nullptr || list->empty()) throw bad_field("messages", "is missing or empty");
  std::vector<models::ChatMessage> messages;
  for (const JsonValue& each : *list) {
    messages.push_back(read_message(each, "messages[" + std::to_string(messages.size()) + "]"));
  }
  return messages;
}

}  // namespace hearth::tools
