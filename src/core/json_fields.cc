#include "core/json_fields.h"

#include <utility>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth {

JsonFields::JsonFields(const JsonValue& value, std::string name)
    : object_(std::get_if<JsonObject>(&value)), name_(std::move(name)) {
  if (object_ == nullptr) {
    fail("of the wrong type; got " + hearth::quoted(json_text(value)) + ", expected an object");
  }
}

void JsonFields::fail(const std::string& what) const {
  throw Error(ErrorCode::corrupt_file, name_ + ": " + what);
}

void JsonFields::unsupported(const std::string& what) const {
  throw Error(ErrorCode::unsupported, name_ + ": " + what);
}

const JsonValue* JsonFields::find(std::string_view key) const noexcept {
  const JsonValue* value = find_key(*object_, key);
  return value == nullptr || std::holds_alternative<std::nullptr_t>(*value) ? nullptr : value;
}

const JsonValue& JsonFields::at(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) fail(std::string(key) + " is missing; got no such key, expected one");
  return *value;
}

JsonFields JsonFields::object(std::string_view key) const {
  return {at(key), name_ + "." + std::string(key)};
}

void JsonFields::fail_type(std::string_view key, const JsonValue& got, const char* expected) const {
  fail(std::string(key) + " is of the wrong type; got " + hearth::quoted(json_text(got)) +
       ", expected " + expected);
}

template <class T>
const T& JsonFields::required(std::string_view key, const char* expected) const {
  const JsonValue& value = at(key);
  const T* typed = std::get_if<T>(&value);
  if (typed == nullptr) fail_type(key, value, expected);
  return *typed;
}

const JsonArray& JsonFields::array(std::string_view key) const {
  return required<JsonArray>(key, "an array");
}

const JsonObject& JsonFields::members(std::string_view key) const {
  return required<JsonObject>(key, "an object");
}

const std::string& JsonFields::text(std::string_view key) const {
  return required<std::string>(key, "a text");
}

std::string JsonFields::text(std::string_view key, std::string_view fallback) const {
  return find(key) == nullptr ? std::string(fallback) : text(key);
}

bool JsonFields::flag(std::string_view key, bool fallback) const {
  return find(key) == nullptr ? fallback : required<bool>(key, "true or false");
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t fallback) const {
  return find(key) == nullptr ? fallback : required<std::int64_t>(key, "a whole number");
}

}  // namespace hearth
