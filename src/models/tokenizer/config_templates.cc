#include "models/tokenizer/config_templates.h"

#include <optional>
#include <variant>

#include "core/json_fields.h"
#include "core/python_json.h"

namespace hearth::models::tokens {

std::vector<NamedTemplate> config_templates(const std::string& config, const std::string& source) {
  const std::optional<JsonValue> document =
      config.empty() ? std::nullopt : parse_python_json(config);
  if (!document) return {};
  const JsonFields fields(*document, source);
  const JsonValue* value = fields.find("chat_template");
  if (value == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(value)) return {{"default", *text}};
  std::vector<NamedTemplate> found;
  each_part(fields, "chat_template", [&](const JsonValue& part, const std::string& name) {
    const JsonFields one(part, name);
    found.push_back({one.text("name"), one.text("template")});
  });
  return found;
}

}  // namespace hearth::models::tokens
