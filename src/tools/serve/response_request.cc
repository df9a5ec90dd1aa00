#include "tools/serve/response_request.h"

#include <string>
#include <utility>

#include "tools/serve/chat_job.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/response_messages.h"
#include "tools/serve/tool_choice.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostIncluded = 64;
constexpr std::int64_t kMostCount = 128;

void refuse_what_is_not_done(const Fields& fields) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (fields.find(name) != nullptr) {
      throw bad_field(name, "is not supported: nothing is stored; expected all items in input");
    }
  }
  if (fields.flag("background", false)) {
    throw bad_field("background", "is not supported; expected false");
  }
  if (fields.integer("top_logprobs", 0, kMostChatLogprobs).value_or(0) != 0) {
    throw bad_field("top_logprobs", "is not supported; expected none");
  }
  if (fields.integer("n", 1, kMostCount).value_or(1) != 1) {
    throw bad_field("n", "is not supported; expected 1");
  }
  if (fields.flag("logprobs", false)) {
    throw bad_field("logprobs", "is not supported; expected false");
  }
  if (fields.find("max_tool_calls") != nullptr) {
    throw bad_field("max_tool_calls", "is not supported; expected none");
  }
  if (const auto truncation = fields.text("truncation").value_or("disabled");
      truncation != "disabled") {
    throw bad_field("truncation",
                    "is not supported; got " + shown(truncation) + ", expected disabled");
  }
  const JsonArray* included = fields.array("include", kMostIncluded);
  for (std::size_t i = 0; included != nullptr && i < included->size(); ++i) {
    // Reasoning is given as it is, so that nothing is missing without this.
    if ((*included)[i] == JsonValue("reasoning.encrypted_content")) continue;
    throw bad_field("include", "is not supported; got " + shown((*included)[i]) +
                                   ", expected none, or reasoning.encrypted_content");
  }
}

JsonArray tools_of(const JsonArray& list, FieldNames& names) {
  JsonArray tools;
  for (const JsonValue& each : list) {
    const std::string place = "tools[" + std::to_string(tools.size()) + "]";
    const JsonObject& object = object_of(each, place);
    const std::string type = Fields(object, place + ".").text("type").value_or("");
    if (type != "function") {
      throw bad_field(place + ".type",
                      "is not supported; got " + shown(type) + ", expected \"function\"");
    }
    JsonObject function;
    for (const auto& [name, value] : object) {
      if (name != "type") function.emplace_back(name, value);
    }
    tools.push_back(JsonObject{{"type", "function"}, {"function", std::move(function)}});
    names.add(place + ".function", place);
  }
  return tools;
}

JsonValue tool_choice_of(const JsonValue& choice) {
  const auto* object = std::get_if<JsonObject>(&choice);
  if (object == nullptr) return choice;
  const Fields inside(*object, "tool_choice.");
  const auto name = inside.text("name");
  if (inside.text("type").value_or("") != "function" || !name) {
    throw bad_field(
        "tool_choice",
        "is not supported; got an object, expected auto, none, required or "
        "{type: \"function\", name}");
  }
  return JsonObject{{"type", "function"}, {"function", JsonObject{{"name", *name}}}};
}

JsonValue response_format_of(const JsonObject& format) {
  const Fields inside(format, "text.format.");
  const std::string type = inside.text("type").value_or("");
  if (type != "json_schema") return format;
  const JsonValue* schema = inside.find("schema");
  if (schema == nullptr) throw missing_field("text.format.schema", "a schema");
  return JsonObject{{"type", type}, {"json_schema", JsonObject{{"schema", *schema}}}};
}

}  // namespace

ChatOfResponse chat_of_response(const Fields& fields) {
  refuse_what_is_not_done(fields);
  ChatOfResponse chat;
  const auto add = [&](const char* name, JsonValue value, const char* given) {
    chat.fields.emplace_back(name, std::move(value));
    chat.names.add(name, given);
  };
  add("messages", messages_of_response(fields, chat.names), "input");
  const auto most = fields.integer("max_output_tokens", 1, kMostNewTokens);
  add("max_completion_tokens", most, "max_output_tokens");
  const JsonArray* tools = fields.array("tools", kMostTools);
  add("tools", tools == nullptr ? JsonValue(nullptr) : tools_of(*tools, chat.names), "tools");
  const JsonValue* choice = fields.find("tool_choice");
  add("tool_choice", choice == nullptr ? JsonValue(nullptr) : tool_choice_of(*choice),
      "tool_choice");
  chat.names.add("tool_choice.function", "tool_choice");
  const JsonObject* text = fields.object("text");
  const JsonObject* format = text == nullptr ? nullptr : Fields(*text, "text.").object("format");
  add("response_format", format == nullptr ? JsonValue(nullptr) : response_format_of(*format),
      "text.format");
  chat.names.add("response_format.json_schema", "text.format");
  if (const JsonObject* reasoning = fields.object("reasoning")) {
    const auto effort = Fields(*reasoning, "reasoning.").text("effort");
    if (effort) add("reasoning_effort", *effort, "reasoning.effort");
  }
  // Of chats alone, or of another meaning there.
  for (const char* name : {"stream_options", "top_logprobs"}) add(name, nullptr, name);
  return chat;
}

}  // namespace hearth::tools::serve
