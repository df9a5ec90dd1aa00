#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/named_pre_tokenizer.h"

namespace hearth::models::tokens {
namespace {

// One or more of each kind that patterns tell apart: letters by case and script, marks, numbers,
// punctuation, symbols, spaces, ends of lines.
constexpr std::string_view kKinds[] = {
    "a",
    "s",
    "T",
    "\xC3\xA9",
    "\xCA\xB0",
    "\xCC\x81",
    "1",
    "\xC2\xB2",
    " ",
    "\t",
    "\n",
    "\r",
    "'",
    ".",
    "/",
    "$",
    "_",
    "\xC2\xA0",
    "\xE4\xB8\xAD",
    "\xE3\x81\x82",
    "\xED\x95\x9C",
    "\xD0\x96",
    "\xE2\x82\xAC",
    "\xF0\x9F\x99\x82",
};

// Runs of all triples, and of what patterns count.
std::vector<std::string> texts_of_kinds() {
  std::vector<std::string> texts = {"1234567", "can't IT'S we'LL", "\n\n \n", "    four", "end   "};
  for (const std::string_view a : kKinds) {
    for (const std::string_view b : kKinds) {
      std::string& text = texts.emplace_back();
      for (const std::string_view c : kKinds) text.append(a).append(b).append(c);
    }
  }
  return texts;
}

bool cuts_alike(const std::vector<PreTokenizerStep>& a, const std::vector<PreTokenizerStep>& b,
                const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
    Pieces of_a{text, {{0, text.size()}}}, of_b = of_a;
    pre_tokenize(a, of_a, true);
    pre_tokenize(b, of_b, true);
    return of_a.text == of_b.text &&
           std::equal(
               of_a.spans.begin(), of_a.spans.end(), of_b.spans.begin(), of_b.spans.end(),
               [](const Span& x, const Span& y) { return x.begin == y.begin && x.end == y.end; });
  });
}

}  // namespace

std::string_view name_of_pre_tokenizer(const std::vector<PreTokenizerStep>& steps,
                                       bool whole_first) {
  const std::vector<std::string> texts = texts_of_kinds();
  for (const std::string_view name : ways_to_split()) {
    const NamedPreTokenizer named = named_pre_tokenizer(name, "");
    if (named.spaces != SpacesOfPieces::as_bytes || named.whole_first != whole_first) continue;
    if (cuts_alike(steps, named.steps, texts)) return name;
  }
  return {};
}

}  // namespace hearth::models::tokens
