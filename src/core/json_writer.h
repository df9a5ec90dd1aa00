// JSON, written front to back.
//
//   JsonWriter json;
//   json.begin_object().member("name", name).key("extents").begin_array();
//   for (const std::int64_t extent : shape) json.value(extent);
//   return json.end_array().end_object().take();
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hearth {

class JsonWriter {
 public:
  // Spaces that each level is indented by; 0 writes one line.
  explicit JsonWriter(int indent = 0) : indent_(indent) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // A text, a number, a bool, nullptr, or an optional of them. A float reads back as itself; what is
  // not finite is null, as is an empty optional.
  template <class T>
  JsonWriter& value(const T& given) {
    if constexpr (std::is_same_v<T, bool>) {
      return literal(given ? "true" : "false");
    } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
      return literal("null");
    } else if constexpr (std::is_integral_v<T>) {
      return literal(std::to_string(given));
    } else if constexpr (std::is_floating_point_v<T>) {
      return number(static_cast<double>(given));
    } else if constexpr (requires { given.has_value(); }) {
      return given ? value(*given) : literal("null");
    } else {
      return text(given);
    }
  }
  template <class T>
  JsonWriter& member(std::string_view name, const T& given) {
    return key(name).value(given);
  }

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& literal(std::string_view written);
  JsonWriter& number(double given);
  JsonWriter& text(std::string_view given);
  void separate();
  void new_line();

  std::string out_;
  int indent_;
  int depth_ = 0;
  bool is_first_ = true;  // nothing stands in the innermost open bracket yet
  bool has_key_ = false;  // the value of a member comes next
};

// The text as a JSON string. A byte that is not UTF-8 becomes U+FFFD; `ascii` escapes all others
// than ASCII.
std::string json_string(std::string_view text, bool ascii = false);

}  // namespace hearth
