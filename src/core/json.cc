#include "core/json.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

namespace hearth {
namespace {

using nlohmann::ordered_json;

ordered_json to_library(const JsonValue& value) {
  return std::visit(
      [](const auto& given) -> ordered_json {
        using T = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<T, JsonArray>) {
          ordered_json list = ordered_json::array();
          for (const JsonValue& element : given) list.push_back(to_library(element));
          return list;
        } else if constexpr (std::is_same_v<T, JsonObject>) {
          ordered_json object = ordered_json::object();
          for (const auto& [key, member] : given) object[key] = to_library(member);
          return object;
        } else {
          return given;
        }
      },
      static_cast<const JsonValue::variant&>(value));
}

JsonValue from_library(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::boolean:
      return value.get<bool>();
    case ordered_json::value_t::number_integer:
      return value.get<std::int64_t>();
    case ordered_json::value_t::number_unsigned:
      // Signed where that holds it, as every smaller integer is.
      if (value.get<std::uint64_t>() >> 63 == 0) return value.get<std::int64_t>();
      return value.get<std::uint64_t>();
    case ordered_json::value_t::number_float:
      return value.get<double>();
    case ordered_json::value_t::string:
      return value.get<std::string>();
    case ordered_json::value_t::array: {
      JsonArray list;
      for (const ordered_json& element : value) list.push_back(from_library(element));
      return list;
    }
    case ordered_json::value_t::object: {
      JsonObject object;
      for (const auto& [key, member] : value.items())
        object.emplace_back(key, from_library(member));
      return object;
    }
    default:
      return nullptr;
  }
}

// Checked before the parser's stack of values grows.
bool nests_deeply(std::string_view text) {
  constexpr int kMax = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;  // what follows is no end of the string
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (depth > kMax) return true;
  }
  return false;
}

}  // namespace

std::string json_text(const JsonValue& value, int indent) { return to_library(value).dump(indent); }

std::optional<JsonValue> parse_json(const std::string& text) {
  if (nests_deeply(text)) return std::nullopt;
  const ordered_json value = ordered_json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return from_library(value);
}

}  // namespace hearth
