#include "core/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

// Builds the document from the parser's events, since the library's ordered objects look for each
// key among all before it.
class DocumentBuilder : public nlohmann::json_sax<ordered_json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    // Signed where that holds it, as every smaller integer is.
    return value >> 63 == 0 ? add(static_cast<std::int64_t>(value)) : add(std::uint64_t{value});
  }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_array(std::size_t) override { return open(JsonArray{}); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override { return open(JsonObject{}); }
  bool key(string_t& value) override {
    std::get<JsonObject>(*open_.back()).emplace_back(std::move(value), nullptr);
    has_name_ = true;
    return true;
  }
  bool end_object() override {
    keep_last(std::get<JsonObject>(*open_.back()));
    return close();
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    fault_.byte = position;
    fault_.place = open_place();
    constexpr int kNumberOverflow = 406;  // the library's number of this error
    if (error.id == kNumberOverflow) {
      fault_.kind = JsonFault::Kind::number;
      fault_.number = token;
      return false;
    }
    // What the library says of the text itself stands behind these words.
    const std::string what = error.what();
    const std::string_view reason = std::string_view(what).substr(0, what.find("; last read"));
    if (reason.find("surrogate U+") != std::string_view::npos) {
      fault_.kind = JsonFault::Kind::surrogate;
    } else if (reason.find("ill-formed UTF-8") != std::string_view::npos) {
      fault_.kind = JsonFault::Kind::utf8;
    }
    return false;
  }

  JsonValue take() { return std::move(root_); }
  JsonFault take_fault() { return std::move(fault_); }

 private:
  // Where the next value goes.
  JsonValue& place() {
    has_name_ = false;
    if (open_.empty()) return root_;
    if (auto* array = std::get_if<JsonArray>(open_.back())) return array->emplace_back(nullptr);
    return std::get<JsonObject>(*open_.back()).back().second;
  }
  bool add(JsonValue value) {
    place() = std::move(value);
    return true;
  }
  bool open(JsonValue value) {
    JsonValue& there = place();
    there = std::move(value);
    open_.push_back(&there);
    return true;
  }
  // Of the value that comes next, or of the object whose next name is no text.
  std::string open_place() const {
    std::string place;
    for (const JsonValue* each : open_) {
      if (const auto* array = std::get_if<JsonArray>(each)) {
        // What is open within is an element already.
        const std::size_t known = array->size() - (each == open_.back() ? 0 : 1);
        place += "[" + std::to_string(known) + "]";
      } else if (each != open_.back() || has_name_) {
        place += (place.empty() ? "" : ".") + std::get<JsonObject>(*each).back().first;
      }
    }
    return place;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  // Of members with one key the last value stands, in the first one's place.
  static void keep_last(JsonObject& object) {
    std::vector<std::size_t> order(object.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = object[a].first.compare(object[b].first);
      return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> dropped;
    std::size_t first = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (object[order[i]].first != object[order[first]].first) {
        first = i;
        continue;
      }
      object[order[first]].second = std::move(object[order[i]].second);
      dropped.resize(object.size());
      dropped[order[i]] = true;
    }
    if (dropped.empty()) return;
    JsonObject kept;
    for (std::size_t i = 0; i < object.size(); ++i) {
      if (!dropped[i]) kept.push_back(std::move(object[i]));
    }
    object = std::move(kept);
  }

  JsonValue root_;
  JsonFault fault_;
  bool has_name_ = false;         // of the member that comes next
  std::vector<JsonValue*> open_;  // from the outermost; each grows only while it is the last
};

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

std::string json_text(const JsonValue& value, int indent) {
  return to_library(value).dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::optional<JsonValue> parse_json(const std::string& text, JsonFault* fault) {
  if (nests_deeply(text)) {
    if (fault != nullptr) *fault = {.kind = JsonFault::Kind::depth};
    return std::nullopt;
  }
  DocumentBuilder builder;
  if (!ordered_json::sax_parse(text, &builder)) {
    if (fault != nullptr) *fault = builder.take_fault();
    return std::nullopt;
  }
  return builder.take();
}

const char* fault_name(JsonFault::Kind kind) noexcept {
  switch (kind) {
    case JsonFault::Kind::syntax:
      return "no JSON";
    case JsonFault::Kind::surrogate:
      return "half of a surrogate pair";
    case JsonFault::Kind::utf8:
      return "bytes that are no UTF-8";
    case JsonFault::Kind::number:
      return "a number beyond those of a double";
    case JsonFault::Kind::depth:
      return "values that nest too deeply";
  }
  return "no JSON";
}

const JsonValue* find_key(const JsonObject& object, std::string_view key) noexcept {
  for (const auto& [name, value] : object) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace hearth
