#include "runtime/tune/rules.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/json.h"
#include "hearth/error.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& got,
                       const std::string& expected) {
  throw Error(ErrorCode::invalid_argument,
              "environment: HEARTH_CHOICES: " + what + "; got " + got + ", expected " + expected);
}

constexpr const char* kRule = R"({"op": "...", "class": "...", "choose": "..."})";
constexpr const char* kRules = R"(a list of {"op": "...", "class": "...", "choose": "..."})";

SelectionRule rule_of(const JsonValue& value) {
  const auto* const object = std::get_if<JsonObject>(&value);
  if (object == nullptr) fail("no rule", json_text(value), kRule);
  SelectionRule rule;
  for (const auto& [key, member] : *object) {
    std::string* const text = key == "op"       ? &rule.op
                              : key == "class"  ? &rule.pattern
                              : key == "choose" ? &rule.name
                                                : nullptr;
    const auto* const given = std::get_if<std::string>(&member);
    if (text == nullptr || given == nullptr) fail("no rule", json_text(value), kRule);
    *text = *given;
  }
  if (rule.op.empty() || rule.name.empty()) fail("no rule", json_text(value), kRule);
  return rule;
}

std::vector<SelectionRule> rules_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    fail("the file cannot be read", "'" + path + "'", "a path, or op=name");
  }
  const std::optional<JsonValue> value = parse_json(text.str());
  const auto* const list = value ? std::get_if<JsonArray>(&*value) : nullptr;
  if (list == nullptr) fail("no JSON", "'" + path + "'", kRules);
  std::vector<SelectionRule> rules;
  for (const JsonValue& each : *list) rules.push_back(rule_of(each));
  return rules;
}

}  // namespace

std::vector<SelectionRule> read_choice_rules(const std::string& text) {
  std::vector<SelectionRule> rules;
  if (text.empty()) return rules;
  if (text.find('=') == std::string::npos) return rules_of_file(text);
  std::istringstream list(text);
  for (std::string part; std::getline(list, part, ',');) {
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    part.erase(part.find_last_not_of(' ') + 1);
    const std::size_t at = part.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == part.size()) {
      fail("no rule", "'" + part + "'", "op=name");
    }
    rules.push_back({part.substr(0, at), "*", part.substr(at + 1)});
  }
  return rules;
}

bool fits_pattern(std::string_view text, std::string_view pattern) noexcept {
  // Where the last star was, and how far the text was then: a star that took too little takes more.
  std::size_t t = 0, p = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_wanted(std::string_view name, std::string_view wanted) noexcept {
  return name.substr(0, wanted.size()) == wanted &&
         (name.size() == wanted.size() || name[wanted.size()] == '/');
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
