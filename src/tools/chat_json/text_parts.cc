#include "tools/chat_json/text_parts.h"

#include <algorithm>

namespace hearth::tools {
namespace {

constexpr std::size_t kMostParts = 4096;

std::string listed(std::span<const std::string_view> types) {
  std::string all;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i > 0) all += i + 1 == types.size() ? " or " : ", ";
    all += json_text(std::string(types[i]));
  }
  return all;
}

}  // namespace

std::optional<std::string> read_text_parts(const Fields& item, std::string_view name,
                                           std::span<const std::string_view> types) {
  const JsonValue* given = item.find(name);
  if (given == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(given)) return *text;
  if (!std::holds_alternative<JsonArray>(*given)) {
    item.wrong_type(name, "a string or an array of parts");
  }
  std::string joined;
  const JsonArray& parts = *item.array(name, kMostParts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string place = item.path(name) + "[" + std::to_string(i) + "]";
    const Fields part(object_of(parts[i], place), place + ".");
    const std::string type = part.text("type").value_or("");
    const bool is_refusal = type == "refusal" && item.text("role") == "assistant";
    if (!is_refusal && std::find(types.begin(), types.end(), type) == types.end()) {
      throw bad_field(item.path(name), "a part of a kind that the model does not take; got " +
                                           shown(type) + ", expected " + listed(types));
    }
    joined += part.required_text(is_refusal ? "refusal" : "text");
  }
  return joined;
}

}  // namespace hearth::tools
