#include "tools/chat_json/fields.h"

#include <cmath>

namespace hearth::tools {
namespace {

std::string range_text(const std::string& low, const std::string& high) {
  return "expected " + low + " to " + high;
}

}  // namespace

std::string shown(const JsonValue& value) {
  constexpr std::size_t kMostShown = 100;
  if (std::holds_alternative<JsonArray>(value)) return "an array";
  if (std::holds_alternative<JsonObject>(value)) return "an object";
  std::string text = json_text(value);
  if (text.size() <= kMostShown) return text;
  std::size_t end = kMostShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

FieldError missing_field(const std::string& param, const std::string& expected) {
  return bad_field(param, "is missing; expected " + expected);
}

FieldError bad_type(const std::string& param, const JsonValue& got, const std::string& expected) {
  return bad_field(param, "is of the wrong type; got " + shown(got) + ", expected " + expected);
}

const JsonObject& object_of(const JsonValue& value, const std::string& param) {
  if (const auto* object = std::get_if<JsonObject>(&value)) return *object;
  throw bad_type(param, value, "an object");
}

const JsonValue* Fields::find(std::string_view name) const {
  const JsonValue* value = find_key(object_, name);
  if (value == nullptr && behind_ != nullptr) value = find_key(*behind_, name);
  const bool is_given = value != nullptr && !std::holds_alternative<std::nullptr_t>(*value);
  return is_given ? value : nullptr;
}

void Fields::wrong_type(std::string_view name, const char* expected) const {
  const JsonValue* value = find(name);
  throw bad_type(path(name), value == nullptr ? JsonValue(nullptr) : *value, expected);
}

bool Fields::flag(std::string_view name, bool otherwise) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return otherwise;
  if (const bool* is_set = std::get_if<bool>(value)) return *is_set;
  wrong_type(name, "true or false");
}

std::optional<std::string> Fields::text(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  wrong_type(name, "a string");
}

std::string Fields::required_text(std::string_view name) const {
  if (auto given = text(name)) return *std::move(given);
  throw missing_field(path(name), "a string");
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t low,
                                            std::int64_t high) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto whole = whole_number(*value);
  if (!whole && !std::holds_alternative<std::uint64_t>(*value)) wrong_type(name, "an integer");
  if (!whole || *whole < low || *whole > high) {
    throw bad_field(path(name), "is out of range; got " + shown(*value) + ", " +
                                    range_text(std::to_string(low), std::to_string(high)));
  }
  return whole;
}

std::optional<double> Fields::number(std::string_view name, double low, double high) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = any_number(*value);
  if (!number) wrong_type(name, "a number");
  if (!(*number >= low && *number <= high)) {
    throw bad_field(path(name), "is out of range; got " + shown(*value) + ", " +
                                    range_text(json_text(low), json_text(high)));
  }
  return number;
}

const JsonObject* Fields::object(std::string_view name) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return nullptr;
  if (const auto* object = std::get_if<JsonObject>(value)) return object;
  wrong_type(name, "an object");
}

const JsonObject& Fields::required_object(std::string_view name) const {
  if (const JsonObject* given = object(name)) return *given;
  throw missing_field(path(name), "an object");
}

const JsonArray* Fields::array(std::string_view name, std::size_t most) const {
  const JsonValue* value = find(name);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<JsonArray>(value);
  if (array == nullptr) wrong_type(name, "an array");
  if (array->size() > most) {
    throw bad_field(path(name), "is too long; got " + std::to_string(array->size()) +
                                    " elements, expected at most " + std::to_string(most));
  }
  return array;
}

std::optional<std::int64_t> whole_number(const JsonValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  const auto* real = std::get_if<double>(&value);
  if (real != nullptr && std::abs(*real) <= 0x1p53 && std::floor(*real) == *real) {
    return static_cast<std::int64_t>(*real);
  }
  return std::nullopt;
}

std::optional<double> any_number(const JsonValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* large = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*large);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

}  // namespace hearth::tools
