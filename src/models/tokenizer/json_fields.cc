#include "models/tokenizer/json_fields.h"

#include <utility>

#include "hearth/error.h"

namespace hearth::models::tokens {

JsonFields::JsonFields(const JsonValue& value, std::string name)
    : object_(std::get_if<JsonObject>(&value)), name_(std::move(name)) {
  if (object_ == nullptr) fail("is no object");
}

void JsonFields::fail(const std::string& what) const {
  throw Error(ErrorCode::corrupt_file, name_ + ": " + what);
}

void JsonFields::unsupported(const std::string& what) const {
  throw Error(ErrorCode::unsupported, name_ + ": " + what);
}

const JsonValue* JsonFields::find(std::string_view key) const noexcept {
  for (const auto& [name, value] : *object_) {
    if (name == key) return std::holds_alternative<std::nullptr_t>(value) ? nullptr : &value;
  }
  return nullptr;
}

const JsonValue& JsonFields::at(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) fail(std::string(key) + " is missing");
  return *value;
}

JsonFields JsonFields::object(std::string_view key) const {
  return {at(key), name_ + "." + std::string(key)};
}

const JsonArray& JsonFields::array(std::string_view key) const {
  const auto* list = std::get_if<JsonArray>(&at(key));
  if (list == nullptr) fail(std::string(key) + " is no list");
  return *list;
}

const std::string& JsonFields::text(std::string_view key) const {
  const auto* text = std::get_if<std::string>(&at(key));
  if (text == nullptr) fail(std::string(key) + " is no text");
  return *text;
}

std::string JsonFields::text(std::string_view key, std::string_view fallback) const {
  return find(key) == nullptr ? std::string(fallback) : text(key);
}

bool JsonFields::flag(std::string_view key, bool fallback) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return fallback;
  const bool* flag = std::get_if<bool>(value);
  if (flag == nullptr) fail(std::string(key) + " is neither true nor false");
  return *flag;
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t fallback) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return fallback;
  const auto* number = std::get_if<std::int64_t>(value);
  if (number == nullptr) fail(std::string(key) + " is no whole number");
  return *number;
}

}  // namespace hearth::models::tokens
