// What tests of the document of ops read it with.
#pragma once

#include <regex>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"

namespace hearth::check {

inline const JsonValue* member(const JsonValue& object, const std::string& name) {
  if (!std::holds_alternative<JsonObject>(object)) return nullptr;
  for (const auto& [key, value] : std::get<JsonObject>(object)) {
    if (key == name) return &value;
  }
  return nullptr;
}
inline const JsonArray& list(const JsonValue& object, const std::string& name) {
  return std::get<JsonArray>(*member(object, name));
}
inline const std::string& text(const JsonValue& object, const std::string& name) {
  return std::get<std::string>(*member(object, name));
}

// The entry of that name; nullptr where there is none or more than one.
inline const JsonValue* only(const JsonArray& entries, const std::string& name) {
  const JsonValue* found = nullptr;
  for (const JsonValue& entry : entries) {
    if (text(entry, "name") != name) continue;
    if (found != nullptr) return nullptr;
    found = &entry;
  }
  return found;
}

// A schema: of each member its name, with ? where it may be missing, and its kind.
using Schema = std::vector<std::pair<std::string, std::string>>;

inline bool has_kind(const JsonValue& value, const std::string& kind) {
  if (kind == "text") return std::holds_alternative<std::string>(value);
  if (kind == "words") {
    return std::holds_alternative<std::string>(value) && !std::get<std::string>(value).empty();
  }
  if (kind == "bool") return std::holds_alternative<bool>(value);
  if (kind == "integer") return std::holds_alternative<std::int64_t>(value);
  if (kind == "list") return std::holds_alternative<JsonArray>(value);
  if (kind == "any") return true;
  return std::regex_match(
      std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : "null",
      std::regex(kind));
}

// What differs, nothing where the object is as the schema says.
inline std::string differences(const JsonValue& object, const Schema& schema) {
  if (!std::holds_alternative<JsonObject>(object)) return "no object";
  std::string wrong;
  std::set<std::string> known;
  for (auto [name, kind] : schema) {
    const bool optional = name.ends_with('?');
    if (optional) name.pop_back();
    known.insert(name);
    const JsonValue* value = member(object, name);
    if (value == nullptr ? !optional : !has_kind(*value, kind)) wrong += name + " ";
  }
  for (const auto& [name, value] : std::get<JsonObject>(object)) {
    if (!known.contains(name)) wrong += "unknown " + name + " ";
  }
  return wrong;
}

// The texts of a list.
inline std::vector<std::string> texts(const JsonValue& object, const std::string& name) {
  std::vector<std::string> all;
  for (const JsonValue& one : list(object, name)) all.push_back(std::get<std::string>(one));
  return all;
}

}  // namespace hearth::check
