// Code points: UTF-8, categories, normal forms, case. Version 14 of Unicode or a later one; which,
// unicode_tables.cc says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/tokenizer/code_ranges.h"

namespace hearth::models::tokens {

// The general categories, in the order of the tables.
// clang-format off
enum class Category : std::uint8_t {
  Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe,
  Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Cs, Co, Cn
};
// clang-format on

inline constexpr std::uint32_t kReplacement = 0xfffd;
inline constexpr std::string_view kReplacementText = "\xef\xbf\xbd";
inline constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581, a space in vocabularies

// One code point of a text, or a byte that is none.
struct Decoded {
  std::uint32_t code = kReplacement;
  std::uint32_t size = 1;  // bytes
  bool valid = false;      // where not, `code` is U+FFFD and `size` 1
};

// At `at`, below the text's size. Surrogates, overlong forms and what is cut off are bytes.
Decoded decode_one(std::string_view text, std::size_t at) noexcept;
void append_utf8(std::string& text, std::uint32_t code);

bool is_ascii(std::string_view text) noexcept;
// How many bytes at the end of the text begin a code point that more bytes would complete: 0 to 3.
std::size_t incomplete_suffix(std::string_view text) noexcept;
// With U+FFFD for each byte that is no part of a code point.
std::string valid_utf8(std::string_view text);

Category category(std::uint32_t code) noexcept;
bool is_letter(std::uint32_t code) noexcept;
bool is_mark(std::uint32_t code) noexcept;
bool is_number(std::uint32_t code) noexcept;
bool is_space(std::uint32_t code) noexcept;  // White_Space

// Of "L", "Lu" and so on; empty for what is no category.
CodeRanges category_ranges(std::string_view name);
CodeRanges space_ranges();

enum class NormalForm { nfc, nfd, nfkc, nfkd };
// Bytes that are no UTF-8 stay as they are.
std::string normalized(std::string_view text, NormalForm form);
std::string lower_case(std::string_view text);                       // each code point alone
std::string without_marks(std::string_view text, bool all = false);  // drops Mn; all: M

// ---- What Python's str has

enum class LetterCase : std::uint8_t { lower, upper, title, fold };
// Appends what the code point alone becomes, three code points at most.
void append_in_case(std::string& text, std::uint32_t code, LetterCase letter_case);

// Bits of what character_facts() gives: islower() and so on of the code point alone.
struct CharacterFacts {
  static constexpr std::uint32_t kLower = 1, kUpper = 2;
  static constexpr std::uint32_t kCased = 4;  // titles go on behind it
  // A capital sigma ends a word, and has another lower case, whatever such ones are around it.
  static constexpr std::uint32_t kCaseIgnorable = 8;
  static constexpr std::uint32_t kDecimal = 16, kDigit = 32, kNumeric = 64, kPrintable = 128;
};
std::uint32_t character_facts(std::uint32_t code) noexcept;

// ---- unicode_tables.cc

extern const std::uint32_t kCategoryRuns[];
extern const std::size_t kCategoryRunsSize;
extern const std::uint32_t kMarkClassRuns[];
extern const std::size_t kMarkClassRunsSize;
extern const std::uint32_t kDecompositions[];
extern const std::size_t kDecompositionsSize;
extern const std::uint32_t kDecompositionPool[];
extern const std::size_t kDecompositionPoolSize;
extern const std::uint32_t kCompositions[];
extern const std::size_t kCompositionsSize;
extern const std::uint32_t kLowerRuns[];
extern const std::size_t kLowerRunsSize;
extern const std::uint32_t kUpperRuns[];
extern const std::size_t kUpperRunsSize;
extern const std::uint32_t kTitleRuns[];
extern const std::size_t kTitleRunsSize;
extern const std::uint32_t kFoldRuns[];
extern const std::size_t kFoldRunsSize;
extern const std::uint32_t kLongCases[];
extern const std::size_t kLongCasesSize;
extern const std::uint32_t kFactRuns[];
extern const std::size_t kFactRunsSize;

}  // namespace hearth::models::tokens
