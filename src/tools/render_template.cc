// `hearth render-template`: what a chat template makes of messages.
#include <memory>
#include <optional>
#include <string>

#include "core/json.h"
#include "core/quoted.h"
#include "io/text_file.h"
#include "models/chat_template/chat_template.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxTemplateBytes = 16u << 20;
constexpr std::uint64_t kMaxInputBytes = 256u << 20;

template <class T>
T member_of_kind(const std::string& name, const JsonValue& value, const char* expected) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw Error(ErrorCode::invalid_argument, "render-template: " + name +
                                               " is of the wrong type; got " + json_text(value) +
                                               ", expected " + expected);
}

// An object of messages and what else models::ChatTemplateInput has; `now` in seconds since 1970,
// local time. Other members are arguments.
models::ChatTemplateInput read_template_input(const std::string& path) {
  const auto json = parse_json(io::read_text(path, kMaxInputBytes));
  const auto* object = json ? std::get_if<JsonObject>(&*json) : nullptr;
  if (object == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "render-template: an input is no JSON object; got " + hearth::quoted(path));
  }
  models::ChatTemplateInput input;
  for (const auto& [name, value] : *object) {
    if (name == "messages") {
      input.messages = value;
    } else if (name == "tools") {
      input.tools = value;
    } else if (name == "documents") {
      input.documents = value;
    } else if (name == "add_generation_prompt") {
      input.add_generation_prompt = member_of_kind<bool>(name, value, "true or false");
    } else if (name == "bos_token") {
      input.bos_token = member_of_kind<std::string>(name, value, "a text");
    } else if (name == "eos_token") {
      input.eos_token = member_of_kind<std::string>(name, value, "a text");
    } else if (name == "now") {
      input.now = models::chat_template::LocalTime(
          std::chrono::seconds(member_of_kind<std::int64_t>(name, value, "seconds")));
    } else {
      input.arguments.emplace_back(name, value);
    }
  }
  return input;
}

JsonValue parts_of(const models::RenderedPrompt& prompt) {
  JsonArray parts;
  for (const auto& part : prompt.parts) {
    parts.push_back(JsonObject{{"text", part.text}, {"is_input", part.is_input}});
  }
  return parts;
}

}  // namespace

void add_render_template(CommandLine& line) {
  struct Arguments {
    std::string path, input;
    bool is_json = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command =
      line.add_command("render-template", "Print what a chat template makes of messages");
  command.option("template", arguments->path, "A file in the language of jinja2").required();
  command
      .option("--input", arguments->input,
              "A JSON object: messages, tools, documents, add_generation_prompt, bos_token, "
              "eos_token, now (seconds since 1970) and what else the template takes")
      .value_name("FILE")
      .required();
  command.flag("--json", arguments->is_json, "Print the parts, and which of them came from input");
  command.action([arguments] {
    const models::ChatTemplate chat_template(io::read_text(arguments->path, kMaxTemplateBytes));
    const auto prompt = chat_template.render(read_template_input(arguments->input));
    write_out(arguments->is_json ? json_text(parts_of(prompt)) + "\n" : prompt.text());
  });
}

}  // namespace hearth::tools
