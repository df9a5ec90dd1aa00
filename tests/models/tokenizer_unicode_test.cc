#include <gtest/gtest.h>

#include "models/tokenizer/byte_level.h"
#include "models/tokenizer/charsmap.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/unicode.h"

#include "error_text.h"

namespace hearth::models::tokens {
namespace {

TEST(TokenizerUnicode, DecodesWhatIsValid) {
  const auto code = [](std::string_view text) {
    const Decoded one = decode_one(text, 0);
    return one.valid ? one.code : 0xffffffff;
  };
  EXPECT_EQ(code("a"), 'a');
  EXPECT_EQ(code("\xc3\xa9"), 0xe9u);
  EXPECT_EQ(code("\xe2\x96\x81"), 0x2581u);
  EXPECT_EQ(code("\xf4\x8f\xbf\xbf"), 0x10ffffu);
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x96", "\xff"}) {
    EXPECT_EQ(code(bad), 0xffffffff);
    EXPECT_EQ(decode_one(bad, 0).size, 1u);
  }
}

TEST(TokenizerUnicode, AllCodePointsComeBack) {
  for (std::uint32_t code = 0; code < kCodePoints; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_utf8(text, code);
    const Decoded one = decode_one(text, 0);
    ASSERT_TRUE(one.valid && one.code == code && one.size == text.size()) << code;
  }
}

TEST(TokenizerUnicode, IncompleteSuffixes) {
  EXPECT_EQ(incomplete_suffix(""), 0u);
  EXPECT_EQ(incomplete_suffix("a"), 0u);
  EXPECT_EQ(incomplete_suffix("a\xe2"), 1u);
  EXPECT_EQ(incomplete_suffix("a\xe2\x96"), 2u);
  EXPECT_EQ(incomplete_suffix("\xe2\x96\x81"), 0u);
  EXPECT_EQ(incomplete_suffix("\xf0\x9f\x98"), 3u);
  EXPECT_EQ(incomplete_suffix("\xed\xa0"), 0u);  // a surrogate, which nothing completes
  EXPECT_EQ(incomplete_suffix("\x80\x80\x80"), 0u);
  EXPECT_EQ(incomplete_suffix("\xff"), 0u);
}

TEST(TokenizerUnicode, Categories) {
  EXPECT_EQ(category('A'), Category::Lu);
  EXPECT_EQ(category('$'), Category::Sc);
  EXPECT_EQ(category(0x300), Category::Mn);
  EXPECT_EQ(category(0x4e00), Category::Lo);
  EXPECT_EQ(category(0x10ffff), Category::Cn);
  EXPECT_EQ(category(0xffffffff), Category::Cn);
  EXPECT_TRUE(is_number(0x660) && is_number(0xbd) && !is_number('a'));
  EXPECT_TRUE(is_space(0x3000) && is_space(0x85) && !is_space(0x200b));
  EXPECT_TRUE(category_ranges("X").empty() && category_ranges("").empty());
  std::size_t letters = 0;
  for (const auto& [first, last] : category_ranges("L")) letters += last - first + 1;
  std::size_t counted = 0;
  for (std::uint32_t code = 0; code < kCodePoints; ++code) counted += is_letter(code);
  EXPECT_EQ(letters, counted);
}

TEST(TokenizerUnicode, NormalForms) {
  EXPECT_EQ(normalized("e\xcc\x81", NormalForm::nfc), "\xc3\xa9");
  EXPECT_EQ(normalized("\xc3\xa9", NormalForm::nfd), "e\xcc\x81");
  EXPECT_EQ(normalized("\xea\xb0\x81", NormalForm::nfd), "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8");
  EXPECT_EQ(normalized("\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", NormalForm::nfc), "\xea\xb0\x81");
  EXPECT_EQ(normalized("\xef\xac\x81\xc2\xb2", NormalForm::nfkc), "fi2");
  EXPECT_EQ(normalized("\xef\xac\x81", NormalForm::nfc), "\xef\xac\x81");
  // Marks are put into their order: dot below before acute.
  EXPECT_EQ(normalized("q\xcc\x81\xcc\xa3", NormalForm::nfd), "q\xcc\xa3\xcc\x81");
  // What composes nowhere else (U+0958).
  EXPECT_EQ(normalized("\xe0\xa5\x98", NormalForm::nfc), "\xe0\xa4\x95\xe0\xa4\xbc");
  EXPECT_EQ(normalized("a\xff\xcc\x81", NormalForm::nfc), "a\xff\xcc\x81");
}

TEST(TokenizerUnicode, LowerCaseAndMarks) {
  EXPECT_EQ(lower_case("A\xc3\x89\xce\xa3\xf0\x90\x90\x80"), "a\xc3\xa9\xcf\x83\xf0\x90\x90\xa8");
  EXPECT_EQ(lower_case("\xc4\xb0"), "i\xcc\x87");
  EXPECT_EQ(lower_case("\xc4\x80\xc4\x81\xc4\x82"), "\xc4\x81\xc4\x81\xc4\x83");
  EXPECT_EQ(without_marks("e\xcc\x81x"), "ex");
}

TEST(TokenizerUnicode, BytesAndTheirCodePoints) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_text(text_of_bytes(all)), all);
  EXPECT_EQ(text_of_bytes(" \n"), "\xc4\xa0\xc4\x8a");
  EXPECT_FALSE(bytes_of_text("\xe2\x96\x81"));
  EXPECT_FALSE(bytes_of_text(" "));
}

TEST(TokenizerNormalizer, Steps) {
  const auto run = [](const NormalizerStep& step, std::string_view text, bool at_start = true) {
    std::vector<NormalizerStep> steps;
    steps.emplace_back(step);
    return normalize(steps, text, at_start);
  };
  EXPECT_EQ(run(Replace{nullptr, "ab", "x"}, "abcab"), "xcx");
  EXPECT_EQ(run(Prepend{"_", false}, "a"), "_a");
  EXPECT_EQ(run(Prepend{"_", false}, ""), "");
  EXPECT_EQ(run(Prepend{"_", true}, "a", false), "a");
  EXPECT_EQ(run(StripSpaces{}, " \xe3\x80\x80 a b "), "a b");
  EXPECT_EQ(run(StripSpaces{}, "  "), "");
  EXPECT_EQ(run(BertText{}, "\xc3\x89t\tA\x01\xe4\xb8\x80"), "et a \xe4\xb8\x80 ");
  const std::string mark(kSpaceMark);
  EXPECT_EQ(run(MarkSpaces{true, true}, "  a  b "), mark + "a" + mark + "b");
  EXPECT_EQ(run(MarkSpaces{false, true}, " a b"), "a" + mark + "b");
  EXPECT_EQ(run(MarkSpaces{true, false}, "a  b"), mark + "a" + mark + mark + "b");
}

// A table that replaces "a" by "b".
std::string small_charsmap() {
  std::vector<std::uint32_t> nodes(256);
  nodes[0] = 1u << 10;                            // its children begin at 1
  nodes[1 ^ 'a'] = ('a' | 1u << 8) | (2u << 10);  // a value, at (1 ^ 'a') ^ 2
  nodes[(1 ^ 'a') ^ 2] = 0x80000000;
  std::string table;
  const auto add = [&](std::uint32_t word) {
    for (int i = 0; i < 4; ++i) table += static_cast<char>(word >> (8 * i) & 0xff);
  };
  add(static_cast<std::uint32_t>(nodes.size() * 4));
  for (const std::uint32_t node : nodes) add(node);
  return table + std::string("b\0", 2);
}

TEST(TokenizerNormalizer, Charsmap) {
  const Charsmap map(small_charsmap(), "test");
  EXPECT_EQ(map.normalized("cab\xff"), "cbb\xef\xbf\xbd");
  EXPECT_EQ(Charsmap("", "test").normalized("a"), "a");
  std::string broken = small_charsmap();
  broken[0] = 3;
  check::error_of(ErrorCode::corrupt_file, [&] { Charsmap(broken, "test"); });
  check::error_of(ErrorCode::corrupt_file, [&] { Charsmap("abc", "test"); });
}

}  // namespace
}  // namespace hearth::models::tokens
