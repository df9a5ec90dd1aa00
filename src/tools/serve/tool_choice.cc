#include "tools/serve/tool_choice.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/chat_json/field_error.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostNameBytes = 64;

using models::CallableTool;

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

CallableTool read_tool(const JsonValue& value, const std::string& path) {
  const Fields fields(object_of(value, path), path + ".");
  if (const std::string type = fields.text("type").value_or(""); type != "function") {
    throw bad_field(path + ".type", "is not known; got " + shown(type) + ", expected \"function\"");
  }
  const Fields inside(fields.required_object("function"), path + ".function.");
  CallableTool tool;
  tool.name = inside.required_text("name");
  if (!is_tool_name(tool.name)) {
    throw bad_field(inside.path("name"), "is no name; got " + shown(tool.name) +
                                             ", expected 1 to 64 of a-z, A-Z, 0-9, _, - and .");
  }
  inside.text("description");
  const JsonObject* parameters = inside.object("parameters");
  tool.parameters = parameters == nullptr ? JsonObject{{"type", "object"}} : *parameters;
  return tool;
}

// References begin at the root of their own schema, which is now a part of another.
void move_references(JsonValue& schema, const std::string& place) {
  if (auto* array = std::get_if<JsonArray>(&schema)) {
    for (JsonValue& each : *array) move_references(each, place);
  } else if (auto* object = std::get_if<JsonObject>(&schema)) {
    for (auto& [key, value] : *object) {
      auto* reference = key == "$ref" ? std::get_if<std::string>(&value) : nullptr;
      if (reference != nullptr && reference->starts_with('#')) {
        *reference = place + reference->substr(1);
      } else {
        move_references(value, place);
      }
    }
  }
}

JsonValue schema_of_call(std::vector<CallableTool> tools) {
  JsonArray calls;
  for (CallableTool& tool : tools) {
    move_references(tool.parameters,
                    "#/anyOf/" + std::to_string(calls.size()) + "/properties/arguments");
    calls.push_back(
        JsonObject{{"type", "object"},
                   {"properties", JsonObject{{"name", JsonObject{{"const", tool.name}}},
                                             {"arguments", std::move(tool.parameters)}}},
                   {"required", JsonArray{"name", "arguments"}},
                   {"additionalProperties", false}});
  }
  return JsonObject{{"anyOf", std::move(calls)}};
}

std::string name_of_choice(const Fields& fields) {
  const JsonObject* choice = fields.object("tool_choice");
  const Fields inside(*choice, "tool_choice.");
  const JsonObject* function = inside.object("function");
  if (inside.text("type").value_or("") != "function" || function == nullptr) {
    throw bad_field("tool_choice", "is not known; expected {type: \"function\", function: {name}}");
  }
  return Fields(*function, "tool_choice.function.").text("name").value_or("");
}

}  // namespace

ToolChoice read_tool_choice(const Fields& fields) {
  ToolChoice choice;
  choice.may_call_several = fields.flag("parallel_tool_calls", true);
  const JsonArray* list = fields.array("tools", kMostTools);
  std::vector<CallableTool> tools;
  if (list != nullptr) {
    for (const JsonValue& each : *list) {
      tools.push_back(read_tool(each, "tools[" + std::to_string(tools.size()) + "]"));
    }
  }
  const JsonValue* given = fields.find("tool_choice");
  const auto* word = given == nullptr ? nullptr : std::get_if<std::string>(given);
  const bool is_named = given != nullptr && word == nullptr;
  if (word != nullptr && *word != "auto" && *word != "none" && *word != "required") {
    throw bad_field("tool_choice", "is not known; got " + shown(*word) +
                                       ", expected auto, none, required or a function");
  }
  if (is_named) {
    const std::string name = name_of_choice(fields);
    std::erase_if(tools, [&](const CallableTool& tool) { return tool.name != name; });
    if (tools.empty()) {
      throw bad_field("tool_choice", "is none of the tools; got " + shown(name) +
                                         ", expected the name of one of them");
    }
  }
  const bool is_required = is_named || (word != nullptr && *word == "required");
  if (is_required && tools.empty()) {
    throw bad_field("tool_choice", "requires a call, but there are no tools; expected tools");
  }
  if (tools.empty() || (word != nullptr && *word == "none")) return choice;
  choice.tools = *list;
  if (is_required) {
    choice.call_schema = schema_of_call(std::move(tools));
  } else {
    choice.callable = std::move(tools);
  }
  return choice;
}

}  // namespace hearth::tools::serve
