#include "models/tokenizer/pattern_sets.h"

#include <string>
#include <string_view>
#include <utility>

namespace hearth::models::tokens {
namespace {

// What folds to the same as the ASCII letters of the set.
void add_cases(CodeRanges& set, const PatternText& text) {
  CodeRanges more;
  for (const auto& [first, last] : set) {
    if (last >= 0x80) text.fail("(?i:) of more than ASCII", "ASCII alone within it");
    for (std::uint32_t code = first; code <= last; ++code) {
      const std::uint32_t lower = code | 0x20;
      if (lower < 'a' || lower > 'z') continue;
      more.emplace_back(lower, lower);
      more.emplace_back(lower - 0x20, lower - 0x20);
      if (lower == 's') more.emplace_back(0x17f, 0x17f);
      if (lower == 'k') more.emplace_back(0x212a, 0x212a);
    }
  }
  set.insert(set.end(), more.begin(), more.end());
  set = merged(std::move(set));
}

std::uint32_t hexadecimal(PatternText& text, std::size_t least, std::size_t most) {
  std::uint32_t value = 0;
  std::size_t digits = 0;
  for (; digits < most && text.more(); ++digits) {
    const char c = text.peek();
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    text.go_to(text.place() + 1);
    value = value << 4 | static_cast<std::uint32_t>(digit);
  }
  if (digits < least || value >= kCodePoints) {
    const std::string count =
        (least < most ? std::to_string(least) + " to " : "") + std::to_string(most);
    text.fail("a bad number of a code point",
              count + " hexadecimal digits" + (most > 4 ? ", at most 10ffff" : ""));
  }
  return value;
}

// Behind \p, or behind \P, which negates.
CodeRanges property(PatternText& text, bool negated) {
  if (!text.take("{")) text.fail("\\p without {", "a category in braces, such as \\p{L}");
  if (text.take("^")) negated = !negated;
  const std::size_t begin = text.place();
  CodeRanges set = category_ranges(text.until('}', "an open \\p{"));
  if (set.empty()) {
    text.go_to(begin);
    text.fail("an unknown property", "a general category, such as L or Nd");
  }
  return negated ? complement(set) : set;
}

}  // namespace

bool overlap(const CodeRanges& a, const CodeRanges& b) {
  for (const auto& [first, last] : a) {
    for (const auto& [other_first, other_last] : b) {
      if (first <= other_last && other_first <= last) return true;
    }
  }
  return false;
}

// As Oniguruma has it: what is alphabetic, marks, digits and what joins words. Of symbols only
// letters in circles and squares are alphabetic; six numbers of Latin-1 count for old times' sake.
CodeRanges word_ranges() {
  CodeRanges all = {{0xb2, 0xb3},       {0xb9, 0xb9},       {0xbc, 0xbe},      {0x24b6, 0x24e9},
                    {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
  for (const std::string_view name : {"L", "M", "Nd", "Nl", "Pc"}) {
    const CodeRanges some = category_ranges(name);
    all.insert(all.end(), some.begin(), some.end());
  }
  return merged(std::move(all));
}

CodeRanges one_code_point(std::uint32_t code, bool any_case, const PatternText& text) {
  CodeRanges set = {{code, code}};
  if (any_case) add_cases(set, text);
  return set;
}

CodeRanges read_escape(PatternText& text, bool any_case) {
  const std::uint32_t code = text.code_point();
  switch (code) {
    case 's':
      return space_ranges();
    case 'S':
      return complement(space_ranges());
    case 'd':
      return category_ranges("Nd");
    case 'D':
      return complement(category_ranges("Nd"));
    case 'w':
      return word_ranges();
    case 'W':
      return complement(word_ranges());
    case 'p':
      return property(text, false);
    case 'P':
      return property(text, true);
    case 'n':
      return {{'\n', '\n'}};
    case 'r':
      return {{'\r', '\r'}};
    case 't':
      return {{'\t', '\t'}};
    case 'f':
      return {{'\f', '\f'}};
    case 'v':
      return {{'\v', '\v'}};
    case 'u':
      return one_code_point(hexadecimal(text, 4, 4), any_case, text);
    case 'x':
      if (text.take("{")) {
        const std::uint32_t value = hexadecimal(text, 1, 8);
        if (!text.take("}")) text.fail("an open \\x{", "a } that ends it");
        return one_code_point(value, any_case, text);
      }
      return one_code_point(hexadecimal(text, 1, 2), any_case, text);
    default:
      break;
  }
  const bool is_word =
      (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  if (is_word || code >= 0x80) {
    text.fail(
        "an unknown escape",
        "one of \\s \\d \\w \\p{} and their capitals, \\n \\r \\t \\f \\v \\u \\x, or punctuation");
  }
  return {{code, code}};
}

CodeRanges read_set(PatternText& text, bool any_case) {
  const bool negated = text.take("^");
  CodeRanges all;
  bool is_first = true;
  const auto member = [&] {
    return text.take("\\") ? read_escape(text, false)
                           : one_code_point(text.code_point(), false, text);
  };
  while (!text.take("]")) {
    if (!text.more()) text.fail("an open set", "a ] that ends it");
    if (text.begins_with("[") || text.begins_with("&&")) {
      text.fail("a set of sets", "\\[ or \\&& for the characters themselves");
    }
    CodeRanges some = member();
    is_first = false;
    const bool is_code = some.size() == 1 && some[0].first == some[0].second;
    if (is_code && text.begins_with("-") && !text.begins_with("-]")) {
      text.take("-");
      const CodeRanges end = member();
      if (end.size() != 1 || end[0].first != end[0].second || end[0].first < some[0].first) {
        text.fail("a bad range", "two code points, the lower one first");
      }
      some[0].second = end[0].first;
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  if (is_first) text.fail("an empty set", "at least one code point in it");
  all = merged(std::move(all));
  if (any_case) add_cases(all, text);
  return negated ? complement(all) : all;
}

}  // namespace hearth::models::tokens
