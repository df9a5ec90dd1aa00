#include "models/chat/tool_calls.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/trimmed.h"

namespace hearth::models {
namespace {

constexpr std::string_view kDeepSeekSeparator = "<\uff5ctool\u2581sep\uff5c>";

std::string_view without_spaces(std::string_view text) { return trimmed(text, " \t\r\n"); }

std::optional<ToolCall> call_of_json(const JsonValue& value) {
  const auto* object = std::get_if<JsonObject>(&value);
  if (object == nullptr) return std::nullopt;
  if (const JsonValue* function = find_key(*object, "function")) {
    if (std::holds_alternative<JsonObject>(*function)) return call_of_json(*function);
  }
  const JsonValue* of_name = find_key(*object, "name");
  const auto* name = of_name == nullptr ? nullptr : std::get_if<std::string>(of_name);
  const JsonValue* arguments = find_key(*object, "arguments");
  if (arguments == nullptr) arguments = find_key(*object, "parameters");
  if (name == nullptr || name->empty() || arguments == nullptr) return std::nullopt;
  const auto* text = std::get_if<std::string>(arguments);
  return ToolCall{"", *name, text != nullptr ? *text : json_text(*arguments)};
}

std::vector<ToolCall> calls_of_json(std::string_view text) {
  const std::optional<JsonValue> value = parse_json(std::string(text));
  if (!value) return {};
  std::vector<ToolCall> calls;
  const JsonArray one = {*value};
  const auto* many = std::get_if<JsonArray>(&*value);
  for (const JsonValue& each : many != nullptr ? *many : one) {
    std::optional<ToolCall> call = call_of_json(each);
    if (!call) return {};
    calls.push_back(std::move(*call));
  }
  return calls;
}

// What stands between `open` and `close`, and what is left behind; nothing where one is missing.
std::optional<std::string_view> take_between(std::string_view& text, std::string_view open,
                                             std::string_view close) {
  if (!text.starts_with(open)) return std::nullopt;
  const std::size_t end = text.find(close, open.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view found = text.substr(open.size(), end - open.size());
  text.remove_prefix(end + close.size());
  text = without_spaces(text);
  return found;
}

// A text, unless it is JSON of another kind.
JsonValue value_of(std::string_view text) {
  const std::string value(without_spaces(text));
  const std::optional<JsonValue> json = parse_json(value);
  return json ? *json : JsonValue(value);
}

// <function=name> <parameter=key> value </parameter> ... </function>
std::vector<ToolCall> calls_of_tags(std::string_view text) {
  std::vector<ToolCall> calls;
  while (!text.empty()) {
    const auto name = take_between(text, "<function=", ">");
    if (!name || without_spaces(*name).empty()) return {};
    JsonObject arguments;
    while (const auto key = take_between(text, "<parameter=", ">")) {
      const std::size_t end = text.find("</parameter>");
      if (end == std::string_view::npos) return {};
      arguments.emplace_back(std::string(*key), value_of(text.substr(0, end)));
      text = without_spaces(text.substr(end + std::string_view("</parameter>").size()));
    }
    if (!take_between(text, "</function>", "") && !text.empty()) return {};
    calls.push_back({"", std::string(without_spaces(*name)), json_text(arguments)});
  }
  return calls;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

std::vector<ToolCall> call_of_name(std::string_view name, std::string_view arguments) {
  const std::optional<JsonValue> value = parse_json(std::string(arguments));
  if (!is_name(name) || !value || !std::holds_alternative<JsonObject>(*value)) return {};
  return {ToolCall{"", std::string(name), json_text(*value)}};
}

// name<sep>{...}, or function<sep>name and a block of code.
std::vector<ToolCall> call_of_deepseek(std::string_view text) {
  const std::size_t at = text.find(kDeepSeekSeparator);
  if (at == std::string_view::npos) return {};
  std::string_view name = without_spaces(text.substr(0, at));
  std::string_view rest = without_spaces(text.substr(at + kDeepSeekSeparator.size()));
  constexpr std::string_view kFence = "```";
  const std::size_t fence = rest.find(kFence);
  if (fence != std::string_view::npos && !rest.starts_with('{')) {
    name = without_spaces(rest.substr(0, fence));
    rest.remove_prefix(std::min(rest.size(), rest.find('\n', fence)));
    rest = without_spaces(rest.substr(0, rest.rfind(kFence)));
  }
  return call_of_name(name, rest);
}

// name <arg_key>key</arg_key> <arg_value>value</arg_value> ...
std::vector<ToolCall> call_of_pairs(std::string_view text) {
  const std::size_t first = text.find("<arg_key>");
  const std::string_view name = without_spaces(text.substr(0, first));
  text = text.substr(first);
  JsonObject arguments;
  while (const auto key = take_between(text, "<arg_key>", "</arg_key>")) {
    const auto value = take_between(text, "<arg_value>", "</arg_value>");
    if (!value) return {};
    arguments.emplace_back(std::string(*key), value_of(*value));
  }
  if (!is_name(name) || !text.empty()) return {};
  return {ToolCall{"", std::string(name), json_text(arguments)}};
}

// name{...} or name[ARGS]{...}, perhaps with [CALL_ID]id behind the name.
std::vector<ToolCall> call_of_mistral(std::string_view text) {
  const std::size_t brace = text.find('{');
  if (brace == std::string_view::npos) return {};
  std::string_view name = text.substr(0, brace);
  for (const std::string_view mark : {"[ARGS]", "[CALL_ID]"})
    name = name.substr(0, name.find(mark));
  return call_of_name(without_spaces(name), text.substr(brace));
}

}  // namespace

std::vector<ToolCall> parse_tool_calls(std::string_view text) {
  text = without_spaces(text);
  if (text.starts_with('{') || text.starts_with('[')) return calls_of_json(text);
  if (text.starts_with("<function=")) return calls_of_tags(text);
  if (text.find("<arg_key>") != std::string_view::npos) return call_of_pairs(text);
  if (text.find(kDeepSeekSeparator) != std::string_view::npos) return call_of_deepseek(text);
  return call_of_mistral(text);
}

}  // namespace hearth::models
