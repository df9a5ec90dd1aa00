#include "tools/serve/response_request.h"

#include <string>
#include <utility>

#include "tools/serve/generation_fields.h"
#include "tools/serve/response_messages.h"
#include "tools/serve/tool_choice.h"
#include "tools/serve/unsupported_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostIncluded = 64;

constexpr UnsupportedField kNotOfResponses[] = {
    {"previous_response_id", never, "all items in input, as nothing is stored"},
    {"conversation", never, "all items in input, as nothing is stored"},
    {"prompt", never, "all items in input, as nothing is stored"},
    {"background", is_false, "false"},
    {"top_logprobs", is_empty, "none"},
    {"logprobs", is_false, "false"},
    {"n", is_one, "1"},
    {"max_tool_calls", never, "none"},
    {"truncation", [](const JsonValue& value) { return value == JsonValue("disabled"); },
     "\"disabled\""},
    {"context_management", is_empty, "none"},
    // Those of chats that have other names here.
    {"messages", never, "input"},
    {"response_format", never, "text.format"},
    {"max_tokens", never, "max_output_tokens"},
    {"max_completion_tokens", never, "max_output_tokens"},
    {"n_predict", never, "max_output_tokens"},
};

void refuse_what_is_included(const Fields& fields) {
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
    throw bad_field("tool_choice",
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
  refuse_unsupported(fields, kNotOfResponses);
  refuse_what_is_included(fields);
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
