#include "runtime/tune/rules.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
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

constexpr std::uintmax_t kMaxBytes = 1 << 20;  // of a file
constexpr std::size_t kMaxQuoted = 200;        // of a rule in an error
constexpr const char* kRule = R"({"op": "...", "class": "...", "choose": "..."})";
constexpr const char* kRules = R"(a list of {"op": "...", "class": "...", "choose": "..."})";

[[noreturn]] void refuse(const JsonValue& value) {
  std::string text = json_text(value);
  if (text.size() > kMaxQuoted) text.replace(kMaxQuoted, text.size(), "...");
  fail("no rule", text, kRule);
}

SelectionRule rule_of(const JsonValue& value) {
  const auto* const object = std::get_if<JsonObject>(&value);
  if (object == nullptr) refuse(value);
  SelectionRule rule;
  for (const auto& [key, member] : *object) {
    std::string* const text = key == "op"       ? &rule.op
                              : key == "class"  ? &rule.pattern
                              : key == "choose" ? &rule.name
                                                : nullptr;
    const auto* const given = std::get_if<std::string>(&member);
    if (text == nullptr || given == nullptr) refuse(value);
    *text = *given;
  }
  if (rule.op.empty() || rule.name.empty()) refuse(value);
  return rule;
}

std::string trimmed(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<SelectionRule> rules_of_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  // Reading a pipe may wait for ever.
  const bool is_file = fs::is_regular_file(path, error);
  const std::uintmax_t bytes = is_file ? fs::file_size(path, error) : 0;
  if (!error && bytes > kMaxBytes) {
    fail("the file is too large", "'" + path + "' of " + std::to_string(bytes) + " bytes",
         std::to_string(kMaxBytes) + " at most");
  }
  std::ifstream file;
  if (is_file && !error) file.open(path, std::ios::binary);
  if (!file.is_open()) {
    fail("the file cannot be read", "'" + path + "'", "the path of a regular file, or op=name");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::optional<JsonValue> value = parse_json(text);
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
    const std::size_t at = std::min(part.find('='), part.size());
    SelectionRule rule{trimmed(part.substr(0, at)), "*", trimmed(part.substr(at))};
    if (!rule.name.empty()) rule.name = trimmed(rule.name.substr(1));
    if (rule.op.empty() || rule.name.empty()) fail("no rule", "'" + trimmed(part) + "'", "op=name");
    rules.push_back(std::move(rule));
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
