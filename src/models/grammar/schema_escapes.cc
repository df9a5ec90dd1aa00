#include "models/grammar/schema_escapes.h"

#include <utility>

#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

void append_category(const char* name, CodeRanges& out) {
  const CodeRanges ranges = tokens::category_ranges(name);
  out.insert(out.end(), ranges.begin(), ranges.end());
}

CodeRanges narrowest_class(char letter) {
  if (letter == 'd') return {{'0', '9'}};
  if (letter == 's') return {{'\t', '\r'}, {' ', ' '}};
  return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
}

// Without the short gaps beyond ASCII, so that grammars are small.
CodeRanges without_gaps(const CodeRanges& ranges) {
  constexpr std::uint32_t kMaxGap = 32;
  CodeRanges out;
  for (const CodeRange& range : ranges) {
    if (!out.empty() && range.first >= 0x80 && range.first - out.back().second <= kMaxGap) {
      out.back().second = range.second;
    } else {
      out.push_back(range);
    }
  }
  return out;
}

CodeRanges widest_class(char letter) {
  CodeRanges out;
  if (letter == 'd') {
    append_category("Nd", out);
  } else if (letter == 's') {
    out = tokens::space_ranges();
    out.insert(out.end(), {{0x1c, 0x1f}, {0x180e, 0x180e}, {0xfeff, 0xfeff}});
  } else {
    for (const char* const name : {"L", "M", "N", "Pc"}) append_category(name, out);
    out = without_gaps(normal_ranges(std::move(out), false));
  }
  return out;
}

}  // namespace

CodeRanges escaped_class(char letter, Escapes escapes) {
  const bool is_negated = letter == 'D' || letter == 'W' || letter == 'S';
  const char plain = is_negated ? static_cast<char>(letter - 'A' + 'a') : letter;
  const bool is_wide = (escapes == Escapes::widest) != is_negated;
  return normal_ranges(is_wide ? widest_class(plain) : narrowest_class(plain), is_negated);
}

}  // namespace hearth::models::grammar
