#include "tools/serve/chat_messages.h"

#include <string>
#include <utility>

#include "tools/serve/api_error.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostMessages = 4096;
constexpr std::size_t kMostParts = 4096;
constexpr std::size_t kMostCalls = 128;

// A text, parts of texts, or null.
JsonValue read_content(const Fields& message) {
  const JsonValue* content = message.find("content");
  if (content == nullptr) return nullptr;
  if (std::holds_alternative<std::string>(*content)) return *content;
  if (!std::holds_alternative<JsonArray>(*content)) {
    message.wrong_type("content", "a string or an array of parts");
  }
  std::string joined;
  for (const JsonValue& each : *message.array("content", kMostParts)) {
    const auto* part = std::get_if<JsonObject>(&each);
    if (part == nullptr) message.wrong_type("content", "parts that are objects");
    const Fields fields(*part, message.path("content") + ".");
    const std::string type = fields.text("type").value_or("");
    const auto text = fields.text("text");
    if (type != "text" || !text) {
      throw bad_field(message.path("content"), "a part of a kind that the model does not take; got " +
                                                   json_text(type) + ", expected \"text\"");
    }
    joined += *text;
  }
  return joined;
}

JsonValue read_call(const JsonValue& value, const std::string& path) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) throw bad_field(path, "is of the wrong type; expected an object");
  const Fields call(*object, path + ".");
  const JsonObject* function = call.object("function");
  if (function == nullptr) throw bad_field(path + ".function", "is missing");
  const Fields inside(*function, path + ".function.");
  const auto name = inside.text("name");
  if (!name) throw bad_field(path + ".function.name", "is missing");
  JsonValue arguments = JsonObject{};
  if (const JsonValue* given = inside.find("arguments")) {
    arguments = *given;
    if (const auto* text = std::get_if<std::string>(given)) {
      auto parsed = parse_json(*text);
      if (parsed && std::holds_alternative<JsonObject>(*parsed)) arguments = std::move(*parsed);
    }
  }
  return JsonObject{{"id", call.text("id").value_or("")},
                    {"type", "function"},
                    {"function", JsonObject{{"name", *name}, {"arguments", std::move(arguments)}}}};
}

JsonValue read_message(const JsonValue& value, const std::string& path) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) throw bad_field(path, "is of the wrong type; expected an object");
  const Fields fields(*object, path + ".");
  std::string role = fields.text("role").value_or("");
  if (role == "developer") role = "system";
  if (role != "system" && role != "user" && role != "assistant" && role != "tool") {
    throw bad_field(path + ".role", "is not known; got " + json_text(role) +
                                        ", expected system, developer, user, assistant or tool");
  }
  JsonObject message = {{"role", role}};
  JsonValue content = read_content(fields);
  const JsonArray* calls = fields.array("tool_calls", kMostCalls);
  if (std::holds_alternative<std::nullptr_t>(content)) {
    if (role != "assistant") throw bad_field(path + ".content", "is missing");
    content = std::string();
  }
  message.emplace_back("content", std::move(content));
  for (const char* name : {"name", "tool_call_id", "reasoning_content"}) {
    if (auto text = fields.text(name)) message.emplace_back(name, std::move(*text));
  }
  if (calls != nullptr && !calls->empty()) {
    if (role != "assistant") throw bad_field(path + ".tool_calls", "of another than the assistant");
    JsonArray list;
    for (const JsonValue& call : *calls) {
      list.push_back(read_call(call, path + ".tool_calls[" + std::to_string(list.size()) + "]"));
    }
    message.emplace_back("tool_calls", std::move(list));
  }
  return message;
}

}  // namespace

JsonArray read_chat_messages(const Fields& fields) {
  const JsonArray* list = fields.array("messages", kMostMessages);
  if (list == nullptr || list->empty()) throw bad_field("messages", "is missing or empty");
  JsonArray messages;
  for (const JsonValue& each : *list) {
    messages.push_back(read_message(each, "messages[" + std::to_string(messages.size()) + "]"));
  }
  return messages;
}

}  // namespace hearth::tools::serve
