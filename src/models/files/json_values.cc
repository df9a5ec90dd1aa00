#include "models/files/json_values.h"

#include <variant>

#include "core/quoted.h"

namespace hearth::models {
namespace {

bool is_null(const JsonValue& value) { return std::holds_alternative<std::nullptr_t>(value); }

// As a message has it: lists and objects may be long.
std::string shown_value(const JsonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return hearth::quoted(*text);
  const bool is_nested =
      std::holds_alternative<JsonArray>(value) || std::holds_alternative<JsonObject>(value);
  return is_nested ? hearth::quoted(json_text(value)) : json_text(value);
}

template <class T>
std::optional<T> as_type(const JsonValue& value, std::string_view path, const char* expected,
                         const JsonSource& source) {
  if (is_null(value)) return std::nullopt;
  if (const auto* typed = std::get_if<T>(&value)) return *typed;
  throw wrong_type(value, path, expected, source);
}

// find_value() that also throws for what is no object, and would have to be one.
const JsonValue* find_inside(const JsonObject& object, std::string_view path,
                             const JsonSource& source) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return find_value(object, path);
  const JsonObject* inner = find_object(object, path.substr(0, dot), source);
  return inner == nullptr ? nullptr : find_value(*inner, path.substr(dot + 1));
}

}  // namespace

const JsonValue* find_value(const JsonObject& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const JsonValue* value = find_key(object, path.substr(0, dot));
  if (value == nullptr || is_null(*value)) return nullptr;
  if (dot == std::string_view::npos) return value;
  const auto* inner = std::get_if<JsonObject>(value);
  return inner == nullptr ? nullptr : find_value(*inner, path.substr(dot + 1));
}

Error wrong_type(const JsonValue& got, std::string_view path, std::string_view expected,
                 const JsonSource& source) {
  return {source.code, source.name + ": " + std::string(path) + " is of the wrong type; got " +
                           shown_value(got) + ", expected " + std::string(expected)};
}

std::optional<double> as_number(const JsonValue& value, std::string_view path,
                                const JsonSource& source) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return as_type<double>(value, path, "a number", source);
}

std::optional<std::int64_t> as_integer(const JsonValue& value, std::string_view path,
                                       const JsonSource& source) {
  return as_type<std::int64_t>(value, path, "an integer", source);
}

const JsonObject* find_object(const JsonObject& object, std::string_view path,
                              const JsonSource& source) {
  const JsonValue* value = find_inside(object, path, source);
  if (value == nullptr) return nullptr;
  if (const auto* found = std::get_if<JsonObject>(value)) return found;
  throw wrong_type(*value, path, "an object", source);
}

const JsonArray* find_array(const JsonObject& object, std::string_view path,
                            const JsonSource& source) {
  const JsonValue* value = find_inside(object, path, source);
  if (value == nullptr) return nullptr;
  if (const auto* found = std::get_if<JsonArray>(value)) return found;
  throw wrong_type(*value, path, "an array", source);
}

std::optional<double> find_number(const JsonObject& object, std::string_view path,
                                  const JsonSource& source) {
  const JsonValue* value = find_inside(object, path, source);
  return value == nullptr ? std::nullopt : as_number(*value, path, source);
}

std::optional<std::int64_t> find_integer(const JsonObject& object, std::string_view path,
                                         const JsonSource& source) {
  const JsonValue* value = find_inside(object, path, source);
  return value == nullptr ? std::nullopt : as_integer(*value, path, source);
}

std::optional<bool> find_flag(const JsonObject& object, std::string_view path,
                              const JsonSource& source) {
  const JsonValue* value = find_inside(object, path, source);
  return value == nullptr ? std::nullopt : as_type<bool>(*value, path, "true or false", source);
}

std::optional<std::string> find_text(const JsonObject& object, std::string_view path,
                                     const JsonSource& source) {
  const JsonValue* value = find_inside(object, path, source);
  return value == nullptr ? std::nullopt : as_type<std::string>(*value, path, "a text", source);
}

}  // namespace hearth::models
