// Code points one by one: UTF-8, categories, case.
#include "models/tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <span>

#include "models/tokenizer/unicode_search.h"

namespace hearth::models::tokens {
namespace {

constexpr std::string_view kCategoryNames =
    "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCsCoCn";

std::span<const std::uint32_t> category_table() { return {kCategoryRuns, kCategoryRunsSize}; }

std::span<const std::uint32_t> case_runs(LetterCase letter_case) {
  switch (letter_case) {
    case LetterCase::lower:
      return {kLowerRuns, kLowerRunsSize};
    case LetterCase::upper:
      return {kUpperRuns, kUpperRunsSize};
    case LetterCase::title:
      return {kTitleRuns, kTitleRunsSize};
    case LetterCase::fold:
      return {kFoldRuns, kFoldRunsSize};
  }
  return {};
}

// By runs of first, last << 8 | step, what is added; the code point itself where it is in none.
std::uint32_t mapped(std::span<const std::uint32_t> runs, std::uint32_t code) {
  const std::size_t run =
      first_where(runs.size() / 3, [&](std::size_t at) { return runs[3 * at + 1] >> 8 >= code; });
  const bool maps = run < runs.size() / 3 && runs[3 * run] <= code &&
                    (code - runs[3 * run]) % (runs[3 * run + 1] & 0xff) == 0;
  return maps ? code + runs[3 * run + 2] : code;
}

}  // namespace

Decoded decode_one(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const auto continues = [&](std::size_t i) { return i < left && (byte(i) & 0xc0) == 0x80; };
  if (first >= 0xc2 && first < 0xe0 && continues(1)) {
    return {(first & 0x1f) << 6 | (byte(1) & 0x3fu), 2, true};
  }
  if ((first & 0xf0) == 0xe0 && continues(1) && continues(2)) {
    const std::uint32_t code = (first & 15) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    if (code >= 0x800 && (code < 0xd800 || code > 0xdfff)) return {code, 3, true};
  }
  if (first >= 0xf0 && first < 0xf5 && continues(1) && continues(2) && continues(3)) {
    const std::uint32_t code =
        (first & 7) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
    if (code >= 0x10000 && code < kCodePoints) return {code, 4, true};
  }
  return {};
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6), add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12), add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18), add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  }
}

std::size_t incomplete_suffix(std::string_view text) noexcept {
  for (std::size_t held = 1; held <= std::min<std::size_t>(3, text.size()); ++held) {
    const std::size_t at = text.size() - held;
    const auto first = static_cast<std::uint8_t>(text[at]);
    if ((first & 0xc0) == 0x80) continue;
    const std::size_t needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    if (needed <= held || first > 0xf4) return 0;
    // What the second byte rules out, no more bytes can mend.
    if (held > 1) {
      const auto second = static_cast<std::uint8_t>(text[at + 1]);
      if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
          (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
        return 0;
      }
    }
    return held;
  }
  return 0;
}

bool is_ascii(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    out += one.valid ? text.substr(at, one.size) : kReplacementText;
    at += one.size;
  }
  return out;
}

Category category(std::uint32_t code) noexcept {
  return code < kCodePoints ? static_cast<Category>(value_of_run(category_table(), code))
                            : Category::Cn;
}

bool is_letter(std::uint32_t code) noexcept { return category(code) <= Category::Lo; }

bool is_mark(std::uint32_t code) noexcept {
  const Category kind = category(code);
  return kind >= Category::Mn && kind <= Category::Me;
}

bool is_number(std::uint32_t code) noexcept {
  const Category kind = category(code);
  return kind >= Category::Nd && kind <= Category::No;
}

bool is_space(std::uint32_t code) noexcept {
  return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

CodeRanges space_ranges() {
  return {{9, 13},          {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
          {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
}

CodeRanges category_ranges(std::string_view name) {
  std::array<bool, 30> wanted{};
  bool any = false;
  if (name.size() == 1 || name.size() == 2) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = kCategoryNames.substr(2 * i, name.size()) == name;
      any = any || wanted[i];
    }
  }
  CodeRanges ranges;
  if (!any) return ranges;
  const auto runs = category_table();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!wanted[runs[i] & 0xff]) continue;
    const std::uint32_t first = runs[i] >> 8;
    const std::uint32_t last = (i + 1 < runs.size() ? runs[i + 1] >> 8 : kCodePoints) - 1;
    if (!ranges.empty() && ranges.back().second + 1 == first) {
      ranges.back().second = last;
    } else {
      ranges.emplace_back(first, last);
    }
  }
  return ranges;
}

std::string lower_case(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    if (one.valid) {
      append_in_case(out, one.code, LetterCase::lower);
    } else {
      out += text.substr(at, one.size);
    }
    at += one.size;
  }
  return out;
}

void append_in_case(std::string& text, std::uint32_t code, LetterCase letter_case) {
  if (code < 0x80) {
    const bool to_upper = letter_case == LetterCase::upper || letter_case == LetterCase::title;
    const std::uint32_t first = to_upper ? 'a' : 'A';
    text += static_cast<char>(code - first < 26 ? code ^ 0x20 : code);
    return;
  }
  const std::uint32_t key = code << 2 | static_cast<std::uint32_t>(letter_case);
  const std::size_t place =
      first_where(kLongCasesSize / 4, [key](std::size_t at) { return kLongCases[4 * at] >= key; });
  if (place < kLongCasesSize / 4 && kLongCases[4 * place] == key) {
    for (std::size_t i = 1; i < 4 && kLongCases[4 * place + i] != 0; ++i) {
      append_utf8(text, kLongCases[4 * place + i]);
    }
    return;
  }
  append_utf8(text, mapped(case_runs(letter_case), code));
}

std::uint32_t character_facts(std::uint32_t code) noexcept {
  return value_of_run({kFactRuns, kFactRunsSize}, code);
}

std::string without_marks(std::string_view text, bool all) {
  if (is_ascii(text)) return std::string(text);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    const bool drops = one.valid && (all ? is_mark(one.code) : category(one.code) == Category::Mn);
    if (!drops) out += text.substr(at, one.size);
    at += one.size;
  }
  return out;
}

}  // namespace hearth::models::tokens
