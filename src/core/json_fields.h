// Typed fields of JSON objects that files have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"

namespace hearth {

// An object with the name that messages give it. The readers throw Error{corrupt_file} with both
// names for fields of another type.
class JsonFields {
 public:
  JsonFields(const JsonValue& value, std::string name);

  const std::string& name() const noexcept { return name_; }
  // Null for what is absent or null.
  const JsonValue* find(std::string_view key) const noexcept;
  const JsonValue& at(std::string_view key) const;
  JsonFields object(std::string_view key) const;
  const JsonArray& array(std::string_view key) const;
  const JsonObject& members(std::string_view key) const;

  const std::string& text(std::string_view key) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  bool flag(std::string_view key, bool fallback) const;
  std::int64_t integer(std::string_view key, std::int64_t fallback) const;

  [[noreturn]] void fail(const std::string& what) const;         // Error{corrupt_file}
  [[noreturn]] void unsupported(const std::string& what) const;  // Error{unsupported}

 private:
  [[noreturn]] void fail_type(std::string_view key, const JsonValue& got,
                              const char* expected) const;
  template <class T>
  const T& required(std::string_view key, const char* expected) const;

  const JsonObject* object_;
  std::string name_;
};

// Calls `on_part` for each element of an array, with the name that messages give it.
template <class OnPart>
void each_part(const JsonFields& fields, std::string_view key, OnPart on_part) {
  const JsonArray& list = fields.array(key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name = std::string(key) + "[" + std::to_string(i) + "]";
    on_part(list[i], fields.name() + "." + name);
  }
}

}  // namespace hearth
