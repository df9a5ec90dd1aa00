#include "codegen/used_vocabulary.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "codegen/text/tokens.h"

namespace hearth::gpu {
namespace {

constexpr std::string_view kLine = "#line ";
constexpr std::string_view kPrelude = "\"kernels/prelude/";
constexpr std::string_view kMacro = "HEARTH_";

using Words = std::unordered_set<std::string_view>;

// The word at the beginning of a text, or nothing.
std::string_view first_word(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_word_character);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

void add_words(std::string_view text, Words* words) {
  while (!text.empty()) {
    const std::string_view word = first_word(text);
    if (!word.empty()) words->insert(word);
    text.remove_prefix(std::max<std::size_t>(word.size(), 1));
  }
}

// The name that a line `HEARTH_MACRO(name, ...)` is about, or nothing.
std::string_view declared_name(std::string_view line) {
  if (!line.starts_with(kMacro)) return {};
  line.remove_prefix(first_word(line).size());
  if (!line.starts_with('(')) return {};
  const std::string_view name = first_word(line.substr(1));
  return is_identifier(name) ? name : std::string_view();
}

struct Declaration {
  std::string_view line, name;
  bool used = false;
};

}  // namespace

std::string with_used_vocabulary(std::string text) {
  std::vector<Declaration> declarations;
  Words words;
  bool in_prelude = false, continued = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.starts_with(kLine)) {
      in_prelude = line.find(kPrelude) != line.npos;
      continue;
    }
    if (!in_prelude && line.find("##") != line.npos) return text;
    const std::string_view name =
        in_prelude && !continued ? declared_name(line) : std::string_view();
    continued = line.ends_with("\\\n");
    if (name.empty()) {
      add_words(line, &words);
    } else {
      declarations.push_back({line, name});
    }
  }
  // What is used may use others.
  for (bool found = true; found;) {
    found = false;
    for (Declaration& each : declarations) {
      if (each.used || !words.contains(each.name)) continue;
      found = each.used = true;
      add_words(each.line, &words);
    }
  }
  for (const Declaration& each : declarations) {
    if (each.used) continue;
    // Blanks in its place, so that what refers to the text stays right.
    const auto begin = text.begin() + (each.line.data() - text.data());
    std::fill(begin, begin + static_cast<std::ptrdiff_t>(each.line.size()) - 1, ' ');
  }
  return text;
}

}  // namespace hearth::gpu
