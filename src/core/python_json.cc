#include "core/python_json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {
namespace {

struct NumberWord {
  std::string_view word;
  double value;
};
constexpr NumberWord kNumberWords[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                       {"Infinity", std::numeric_limits<double>::infinity()},
                                       {"-Infinity", -std::numeric_limits<double>::infinity()}};
constexpr char kMark[] = "\\u0000";  // before such a word, as a string

// Strings of a mark and the word in place of words outside of strings; `marks` are where they
// begin.
std::string with_marked_words(const std::string& text, std::vector<std::size_t>& marks) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    const auto* word =
        std::find_if(std::begin(kNumberWords), std::end(kNumberWords),
                     [&](const auto& each) { return !in_string && rest.starts_with(each.word); });
    if (word != std::end(kNumberWords)) {
      marks.push_back(out.size());
      out.append("\"").append(kMark).append(word->word).append("\"");
      i += word->word.size();
      continue;
    }
    if (rest[0] == '"') in_string = !in_string;
    // What follows a backslash is no end of the string.
    const std::size_t taken = in_string && rest[0] == '\\' && rest.size() > 1 ? 2 : 1;
    out.append(rest.substr(0, taken));
    i += taken;
  }
  return out;
}

void read_marked_words(JsonValue& value) {
  if (auto* list = std::get_if<JsonArray>(&value)) {
    for (JsonValue& each : *list) read_marked_words(each);
  } else if (auto* object = std::get_if<JsonObject>(&value)) {
    for (auto& [name, member] : *object) read_marked_words(member);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (!text->starts_with('\0')) return;
    for (const NumberWord& each : kNumberWords) {
      if (std::string_view(*text).substr(1) != each.word) continue;
      value = JsonValue(each.value);
      return;
    }
  }
}

}  // namespace

std::optional<JsonValue> parse_python_json(const std::string& text, JsonFault* fault) {
  if (std::optional<JsonValue> value = parse_json(text)) return value;
  std::vector<std::size_t> marks;
  std::optional<JsonValue> value = parse_json(with_marked_words(text, marks), fault);
  if (value) {
    read_marked_words(*value);
  } else if (fault != nullptr) {
    constexpr std::size_t kAdded = sizeof kMark - 1 + 2;  // with the quotes around
    const auto before = std::lower_bound(marks.begin(), marks.end(), fault->byte);
    fault->byte -= kAdded * static_cast<std::size_t>(before - marks.begin());
  }
  return value;
}

}  // namespace hearth
