#include "models/files/folder_template.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/json.h"
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

// `chat_template` of tokenizer_config.json: a text, or several with names, of which one is the
// default.
std::string template_of_config(const std::string& path) {
  const std::optional<JsonValue> config = parse_json(io::read_text(path, kMostTemplateBytes));
  const JsonValue* value = config ? member_of(*config, "chat_template") : nullptr;
  if (value == nullptr) return "";
  if (const auto* several = std::get_if<JsonArray>(value)) {
    for (const JsonValue& each : *several) {
      if (text_or_nothing(member_of(each, "name")) == "default") {
        return text_or_nothing(member_of(each, "template"));
      }
    }
  }
  return text_or_nothing(value);
}

}  // namespace

std::string chat_template_of(const ModelFolder& folder) {
  if (!folder.chat_template.empty()) {
    return io::read_text(folder.chat_template, kMostTemplateBytes);
  }
  return folder.tokenizer_config.empty() ? "" : template_of_config(folder.tokenizer_config);
}

}  // namespace hearth::models
