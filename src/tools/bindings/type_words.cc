#include "tools/bindings/type_words.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "hearth/error.h"

namespace hearth::tools {
namespace {

template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const std::map<std::string, std::string>& type_words() {
  static const std::map<std::string, std::string> words = {
      {"Array", "array"},
      {"std::span<const Array>", "array_list"},
      {"std::vector<Array>", "array_list"},
      {"bool", "bool"},
      {"std::string_view", "string"},
      {"double", "f64"},
      {"std::int64_t", "i64"},
      {"DType", "dtype"},
      {"Device", "device"},
      {"Dims", "i64_list"},
      {"Shape", "i64_list"},
      {"AllAxes", "i64_list"},
      {"std::vector<std::int64_t>", "i64_list"},
      {"std::vector<double>", "f64_list"},
      {"std::vector<Slice>", "Slice_list"},
      {"std::uint64_t", "u64"}};
  return words;
}

std::string type_word(std::string type) {
  if (type.starts_with("const ")) type = type.substr(6);
  while (type.ends_with("&") || type.ends_with("*")) type.pop_back();
  if (type.starts_with("std::optional<")) type = type.substr(14, type.size() - 15);
  const auto known = type_words().find(type);
  return known == type_words().end() ? type : known->second;
}

bool is_array_word(const std::string& word) { return word == "array" || word == "array_list"; }

JsonValue default_value(const std::string& text, const std::string& type) {
  for (const char* const none :
       {"std::nullopt", "nullptr", "Array()", "Device()", "AllAxes::everything()"}) {
    if (text == none) return nullptr;
  }
  if (text == "{}" && type == "array") return nullptr;
  if (text == "{}") return type.ends_with("_list") ? JsonValue(JsonArray()) : JsonObject();
  if (type == "bool" && (text == "true" || text == "false")) return text == "true";
  JsonValue value = nullptr;
  if (type == "f64") value = number<double>(text);
  if (type == "i64") value = number<std::int64_t>(text);
  if (type == "u64") value = number<std::uint64_t>(text);
  if (value != JsonValue(nullptr)) return value;
  // A value of an enum: "DType::bool_", "Reduction::mean".
  const std::size_t colons = text.find("::");
  std::string word = colons == std::string::npos ? "" : text.substr(colons + 2);
  if (type == "dtype" && text.starts_with("DType::")) {
    if (word.ends_with('_')) word.pop_back();
    return word;
  }
  if (colons != std::string::npos && text.substr(0, colons) == type) return word;
  throw Error(ErrorCode::invalid_argument,
              "ops: a default that has no value; got " + text + ", expected one of " + type);
}

}  // namespace hearth::tools
