#include "models/files/folder_template.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/python_json.h"
#include "io/text_file.h"

namespace hearth::models {
namespace {

constexpr std::uint64_t kMostTemplateBytes = std::uint64_t{16} << 20;

const JsonValue* member_of(const JsonValue& value, std::string_view key) {
  const auto* object = std::get_if<JsonObject>(&value);
  return object == nullptr ? nullptr : find_key(*object, key);
}

std::string text_or_nothing(const JsonValue* value) {
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? "" : *text;
}

// `chat_template` of tokenizer_config.json: a text, or several with names.
FolderTemplates templates_of_config(const std::string& path) {
  const std::optional<JsonValue> config =
      parse_python_json(io::read_text(path, kMostTemplateBytes));
  const JsonValue* value = config ? member_of(*config, "chat_template") : nullptr;
  const auto* several = value == nullptr ? nullptr : std::get_if<JsonArray>(value);
  if (several == nullptr) return {text_or_nothing(value), ""};
  FolderTemplates found;
  for (const JsonValue& each : *several) {
    const std::string name = text_or_nothing(member_of(each, "name"));
    const std::string text = text_or_nothing(member_of(each, "template"));
    if (name == "default") found.usual = text;
    if (name == "tool_use") found.with_tools = text;
  }
  return found;
}

}  // namespace

FolderTemplates chat_templates_of(const ModelFolder& folder) {
  const auto text_of = [](const std::string& path) {
    return path.empty() ? "" : io::read_text(path, kMostTemplateBytes);
  };
  if (!folder.chat_template.empty()) {
    return {text_of(folder.chat_template), text_of(folder.tool_template)};
  }
  if (folder.tokenizer_config.empty()) return {};
  return templates_of_config(folder.tokenizer_config);
}

}  // namespace hearth::models
