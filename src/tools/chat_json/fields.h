// Reading the fields of an object of JSON, whose types nobody vouches for. All throw FieldError
// with the field's name; null is a field that is not there, as OpenAI's clients write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "tools/chat_json/field_error.h"

namespace hearth::tools {

// A value as refusals show it: its text, cut where it is long, or that it is an array or object.
std::string shown(const JsonValue& value);

FieldError missing_field(const std::string& param, const std::string& expected);
FieldError bad_type(const std::string& param, const JsonValue& got, const std::string& expected);

// The object that the value in the field `param` is.
const JsonObject& object_of(const JsonValue& value, const std::string& param);

// The fields of an object, which must outlive it.
class Fields {
 public:
  // `prefix` stands before the names in messages: "stream_options.".
  explicit Fields(const JsonObject& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}
  // Of both: what the first has, null or not, counts.
  Fields(const JsonObject& object, const JsonObject& behind) : object_(object), behind_(&behind) {}

  // Null where there is none.
  const JsonValue* find(std::string_view name) const;
  std::string path(std::string_view name) const { return prefix_ + std::string(name); }

  bool flag(std::string_view name, bool otherwise) const;
  std::optional<std::string> text(std::string_view name) const;
  std::string required_text(std::string_view name) const;
  // Within [low, high]; a whole number may be written 1.0.
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low,
                                      std::int64_t high) const;
  std::optional<double> number(std::string_view name, double low, double high) const;
  const JsonObject* object(std::string_view name) const;
  const JsonObject& required_object(std::string_view name) const;
  // Of at most `most` elements.
  const JsonArray* array(std::string_view name, std::size_t most) const;

  [[noreturn]] void wrong_type(std::string_view name, const char* expected) const;

 private:
  const JsonObject& object_;
  const JsonObject* behind_ = nullptr;
  std::string prefix_;
};

// A whole number, also one written as 1.0.
std::optional<std::int64_t> whole_number(const JsonValue& value);
std::optional<double> any_number(const JsonValue& value);

}  // namespace hearth::tools
