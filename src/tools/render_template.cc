// `hearth render-template`: what a chat template makes of messages.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/json.h"
#include "core/quoted.h"
#include "io/text_file.h"
#include "models/chat/continued_message.h"
#include "models/chat_template/chat_template.h"
#include "tools/chat_json/field_error.h"
#include "tools/chat_json/template_options.h"
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

struct TemplateJob {
  models::ChatTemplateInput input;
  std::optional<std::string> continued;  // the content that the prompt ends behind
};

std::string last_content(const models::ChatTemplateInput& input) {
  const auto* messages = std::get_if<JsonArray>(&input.messages);
  const auto* last = messages == nullptr || messages->empty()
                         ? nullptr
                         : std::get_if<JsonObject>(&messages->back());
  const JsonValue* content = last == nullptr ? nullptr : find_key(*last, "content");
  return member_of_kind<std::string>("content of the last message",
                                     content == nullptr ? JsonValue(nullptr) : *content, "a text");
}

// An object of messages, tools, documents, texts of tokens and template options; other members are
// arguments, as those of chat_template_kwargs are.
TemplateJob template_job(const JsonObject& object) {
  models::ChatOptions options = read_template_options(Fields(object));
  TemplateJob job;
  models::ChatTemplateInput& input = job.input;
  input.add_generation_prompt = options.add_generation_prompt;
  input.now = options.now;
  input.arguments = std::move(options.arguments);
  for (const auto& [name, value] : object) {
    if (name == "messages") {
      input.messages = value;
    } else if (name == "tools") {
      input.tools = value;
    } else if (name == "documents") {
      input.documents = value;
    } else if (name == "bos_token") {
      input.bos_token = member_of_kind<std::string>(name, value, "a text");
    } else if (name == "eos_token") {
      input.eos_token = member_of_kind<std::string>(name, value, "a text");
    } else if (!is_template_option(name)) {
      input.arguments.emplace_back(name, value);
    }
  }
  if (options.continue_final_message) job.continued = last_content(input);
  return job;
}

TemplateJob read_template_job(const std::string& path) {
  const auto json = parse_json(io::read_text(path, kMaxInputBytes));
  const auto* object = json ? std::get_if<JsonObject>(&*json) : nullptr;
  if (object == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "render-template: the input is not a JSON object; got " + hearth::quoted(path));
  }
  try {
    return template_job(*object);
  } catch (const FieldError& error) {
    throw Error(ErrorCode::invalid_argument, std::string("render-template: ") + error.what());
  }
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
  Command command = line.add_command("render-template",
                                     "Print the prompt that a chat template makes of messages");
  command.option("template", arguments->path, "A Jinja file").value_name("FILE").required();
  command
      .option("--input", arguments->input,
              "A JSON object, as /apply-template takes it: messages, tools, documents, "
              "add_generation_prompt [true], continue_final_message [false], now (seconds since "
              "1970), chat_template_kwargs; "
              "bos_token, eos_token; other members are the template's, too")
      .value_name("FILE")
      .required();
  command.flag("--json", arguments->is_json,
               "Print the parts of the prompt as JSON, and which of them came from the input");
  command.action([arguments] {
    const models::ChatTemplate chat_template(io::read_text(arguments->path, kMaxTemplateBytes));
    const TemplateJob job = read_template_job(arguments->input);
    models::RenderedPrompt prompt = chat_template.render(job.input);
    if (job.continued) models::end_behind(prompt, *job.continued);
    write_out(arguments->is_json ? json_text(parts_of(prompt)) + "\n" : prompt.text());
  });
}

}  // namespace hearth::tools
