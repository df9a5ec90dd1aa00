// JSON documents of configurations, reports and results of tuning. The library behind them is
// included by one source for all; untrusted headers of tensors have their own reader
// (io/safetensors.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hearth {

struct JsonValue;
using JsonArray = std::vector<JsonValue>;
using JsonObject = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the text

struct JsonValue : std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double,
                                std::string, JsonArray, JsonObject> {
  using variant::variant;
  // Null where there is none.
  template <class T>
  JsonValue(const std::optional<T>& value) {  // NOLINT(google-explicit-constructor)
    if (value) *this = JsonValue(*value);
  }
};

// In one line, or with `indent` spaces a level. Bytes of texts that are no UTF-8 become U+FFFD.
std::string json_text(const JsonValue& value, int indent = -1);

// Why a text is no JSON.
struct JsonFault {
  enum class Kind : std::uint8_t {
    syntax,
    surrogate,  // a string has half of a pair, \ud800 to \udfff alone
    utf8,       // a string has bytes that are no UTF-8
    number,     // a number is beyond those of a double
    depth,      // nests deeper than any configuration
  };
  Kind kind = Kind::syntax;
  std::size_t byte = 0;  // where it was seen; 0 of depth
  std::string place =
      {};  // of the value around it, such as messages[1].content; empty: the outermost
  std::string number = {};  // as it is written, where that is the fault
};

// Such as "bytes that are no UTF-8".
const char* fault_name(JsonFault::Kind kind) noexcept;

// Nothing for what is no JSON, or nests too deeply; `fault`, unless null, then has the reason.
std::optional<JsonValue> parse_json(const std::string& text, JsonFault* fault = nullptr);

// The value of the first member of this name; null where there is none.
const JsonValue* find_key(const JsonObject& object, std::string_view key) noexcept;

}  // namespace hearth
