// `hearth render-template`: what a chat template, of a file or of a model, makes of messages.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/json.h"
#include "core/quoted.h"
#include "io/text_file.h"
#include "models/chat/chat_format.h"
#include "models/chat/continued_message.h"
#include "models/chat_template/chat_template.h"
#include "models/loading/load_model.h"
#include "tools/chat_json/field_error.h"
#include "tools/chat_json/template_options.h"
#include "tools/commands.h"
#include "tools/lm/model_path.h"
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

// What renders, and what a model's tokenizer calls the tokens that begin and end texts.
struct GivenTemplate {
  std::string source;
  std::string tool_source = {};  // in place of that beside tools; empty: that
  std::string bos = {}, eos = {};
};

GivenTemplate read_template(const std::string& path) {
  if (!is_model_path(path)) return {.source = io::read_text(path, kMaxTemplateBytes)};
  const models::ModelContents files = models::read_model_contents(path);
  const models::Tokenizer tokenizer = models::tokenizer_of(files);
  const auto text_of = [&](std::int32_t token) {
    return token < 0 ? std::string() : std::string(tokenizer.text(token));
  };
  return {.source = models::template_of_model(files.chat_template, tokenizer),
          .tool_source = files.tool_template,
          .bos = text_of(tokenizer.special().bos),
          .eos = text_of(tokenizer.special().eos)};
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
TemplateJob template_job(const JsonObject& object, const GivenTemplate& given) {
  models::ChatOptions options = read_template_options(Fields(object));
  TemplateJob job;
  models::ChatTemplateInput& input = job.input;
  input.bos_token = given.bos;
  input.eos_token = given.eos;
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

// `path` of "-": the standard input. An array is the messages alone.
TemplateJob read_template_job(const std::string& path, const GivenTemplate& given) {
  std::optional<JsonValue> json = parse_json(path == "-" ? io::read_input_text(kMaxInputBytes)
                                                         : io::read_text(path, kMaxInputBytes));
  if (json && std::holds_alternative<JsonArray>(*json)) {
    json = JsonObject{{"messages", std::move(*json)}};
  }
  const auto* object = json ? std::get_if<JsonObject>(&*json) : nullptr;
  if (object == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "render-template: the input is neither a JSON object nor an array; got " +
                    hearth::quoted(path) + ", expected {\"messages\": [...]} or the messages");
  }
  try {
    return template_job(*object, given);
  } catch (const FieldError& error) {
    throw Error(ErrorCode::invalid_argument, std::string("render-template: ") + error.what());
  }
}

models::RenderedPrompt rendered(const GivenTemplate& given, const TemplateJob& job) {
  const auto* tools = std::get_if<JsonArray>(&job.input.tools);
  const bool is_for_tools = tools != nullptr && !tools->empty() && !given.tool_source.empty();
  const models::ChatTemplate chat_template(is_for_tools ? given.tool_source : given.source);
  models::RenderedPrompt prompt = chat_template.render(job.input);
  if (job.continued) models::end_behind(prompt, *job.continued);
  return prompt;
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
  command
      .option("template", arguments->path,
              "A Jinja file, or a model, whose own template it is then: a GGUF file or a folder")
      .value_name("FILE")
      .required();
  command
      .option("--input", arguments->input,
              "A JSON object, as /apply-template takes it, or an array of messages; -: standard "
              "input. Its members: messages, tools, documents, "
              "add_generation_prompt [true], continue_final_message [false], now (seconds since "
              "1970), chat_template_kwargs; "
              "bos_token, eos_token [the model's]; other members are the template's, too")
      .value_name("FILE")
      .required();
  command.flag("--json", arguments->is_json,
               "Print the parts of the prompt as JSON, and which of them came from the input");
  command.action([arguments] {
    const GivenTemplate given = read_template(arguments->path);
    const models::RenderedPrompt prompt =
        rendered(given, read_template_job(arguments->input, given));
    write_out(arguments->is_json ? json_text(parts_of(prompt)) + "\n" : prompt.text());
  });
}

}  // namespace hearth::tools
