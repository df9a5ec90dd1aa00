#include "tools/lm/chat_template_option.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include "core/quoted.h"
#include "hearth/error.h"
#include "io/text_file.h"
#include "tools/lm/option_file.h"

namespace hearth::tools {
namespace {

// Whether this is the template itself, and not the path of its file.
bool is_template_text(const std::string& value) {
  std::error_code ignored;
  return !std::filesystem::exists(value, ignored) &&
         (value.find("{%") != std::string::npos || value.find("{{") != std::string::npos);
}

}  // namespace

void add_chat_template_option(Command& command, std::string& value) {
  command
      .option("--chat-template,--chat-template-file", value,
              "A chat template in place of the model's own: a Jinja file, or its text")
      .value_name("FILE");
}

void add_template_arguments_option(Command& command, std::string& value) {
  command
      .option("--chat-template-kwargs", value,
              "Variables for the chat template, such as '{\"enable_thinking\": false}'")
      .value_name("JSON");
}

JsonObject template_arguments_of(const std::string& value) {
  if (value.empty()) return {};
  auto document = parse_json(value);
  auto* object = document ? std::get_if<JsonObject>(&*document) : nullptr;
  if (object != nullptr) return std::move(*object);
  throw Error(ErrorCode::invalid_argument,
              "--chat-template-kwargs: not a JSON object; got " + hearth::quoted(value, 40) +
                  ", expected one such as {\"enable_thinking\": false}");
}

void set_chat_template(models::LoadedModel& loaded, const std::string& value) {
  constexpr std::uint64_t kMostTemplateFileBytes = 16u << 20;
  if (value.empty()) return;
  loaded.tool_template.clear();
  if (is_template_text(value)) {
    loaded.chat_template = value;
    return;
  }
  loaded.chat_template = read_option_file(
      "--chat-template",
      "a file in the language of jinja2, or its text (no names of templates are built in)",
      [&] { return io::read_text(value, kMostTemplateFileBytes); });
}

}  // namespace hearth::tools
