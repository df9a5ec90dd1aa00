#include "models/language/folder/config_values.h"

#include <algorithm>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/layer_limit.h"

namespace hearth::models {
namespace {

[[noreturn]] void fail_type(std::string_view path, const JsonValue& got, const char* expected) {
  throw Error(ErrorCode::invalid_argument,
              "config.json: " + std::string(path) + " is of the wrong type; got " +
                  hearth::quoted(json_text(got)) + ", expected " + expected);
}

}  // namespace

const JsonValue* find_value(const JsonObject& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const JsonValue* value = find_key(object, path.substr(0, dot));
  if (value == nullptr || std::holds_alternative<std::nullptr_t>(*value)) return nullptr;
  if (dot == std::string_view::npos) return value;
  const auto* inner = std::get_if<JsonObject>(value);
  return inner == nullptr ? nullptr : find_value(*inner, path.substr(dot + 1));
}

const JsonObject* find_object(const JsonObject& object, std::string_view path) {
  const JsonValue* value = find_value(object, path);
  if (value == nullptr) return nullptr;
  if (const auto* found = std::get_if<JsonObject>(value)) return found;
  fail_type(path, *value, "an object");
}

const JsonArray* find_array(const JsonObject& object, std::string_view path) {
  const JsonValue* value = find_value(object, path);
  if (value == nullptr) return nullptr;
  if (const auto* found = std::get_if<JsonArray>(value)) return found;
  fail_type(path, *value, "an array");
}

std::optional<double> find_number(const JsonObject& object, std::string_view path) {
  const JsonValue* value = find_value(object, path);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  fail_type(path, *value, "a number");
}

std::optional<std::int64_t> find_integer(const JsonObject& object, std::string_view path) {
  const JsonValue* value = find_value(object, path);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return *whole;
  fail_type(path, *value, "an integer");
}

std::optional<bool> find_flag(const JsonObject& object, std::string_view path) {
  const JsonValue* value = find_value(object, path);
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  fail_type(path, *value, "true or false");
}

std::optional<std::string> find_text(const JsonObject& object, std::string_view path) {
  const JsonValue* value = find_value(object, path);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  fail_type(path, *value, "a text");
}

std::int64_t layers_of(const JsonObject& config) {
  return std::clamp<std::int64_t>(find_integer(config, "num_hidden_layers").value_or(0), 0,
                                  kMostLayers);
}

}  // namespace hearth::models
