// Characters of the bytes that terminals send.
#include "tools/lm/typed_characters.h"

#include <gtest/gtest.h>

#include <utility>

namespace hearth::tools {
namespace {

class TerminalBytes {
 public:
  explicit TerminalBytes(std::string bytes)
      : bytes_(std::move(bytes)),
        characters_([this] { return read_byte(); },
                    {"\033[A", "\033OA", "\033[1;5C", "\033[200~"}) {}

  std::wstring all() {
    std::wstring text;
    while (const auto c = characters_.next()) text += *c;
    return text;
  }
  std::wstring pasted() { return characters_.pasted(); }

 private:
  std::optional<char> read_byte() {
    if (at_ == bytes_.size()) return std::nullopt;
    return bytes_[at_++];
  }

  std::string bytes_;
  std::size_t at_ = 0;
  TypedCharacters characters_;
};

std::wstring characters_of(const std::string& bytes) { return TerminalBytes(bytes).all(); }

TEST(TypedCharacters, AreThoseOfUtf8) {
  EXPECT_EQ(characters_of(""), L"");
  EXPECT_EQ(characters_of("a\x7f\x04"), L"a\x7f\x04");
  EXPECT_EQ(characters_of("\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x98\x80!"), L"\u00e9\u6f22\U0001f600!");
}

TEST(TypedCharacters, OtherBytesAreReplaced) {
  EXPECT_EQ(characters_of("a\xFFz"), L"a\ufffdz");
  EXPECT_EQ(characters_of("\x80z"), L"\ufffdz");
  // What breaks off a character begins the next one.
  EXPECT_EQ(characters_of("\xE6\xBCz"), L"\ufffdz");
  EXPECT_EQ(characters_of("\xE6\xE6\xBC\xA2"), L"\ufffd\u6f22");
  EXPECT_EQ(characters_of("\xE6\033[A"), L"\ufffd\033[A");
  EXPECT_EQ(characters_of("\xED\xA0z"), L"\ufffd\ufffdz");  // a surrogate
  EXPECT_EQ(characters_of("z\xE6\xBC"), L"z\ufffd");
}

TEST(TypedCharacters, OfKeysWithoutAMeaningThereAreNone) {
  EXPECT_EQ(characters_of("a\033[Ab\033OAc\033[1;5Cd"), L"a\033[Ab\033OAc\033[1;5Cd");
  EXPECT_EQ(characters_of("a\033[Bb\033OZc\033[1;2Ad\033[24~e"), L"abcde");
  EXPECT_EQ(characters_of("a\033[1;"), L"a");
  // ESC alone, before a letter and before a key.
  EXPECT_EQ(characters_of("\033"), L"\033");
  EXPECT_EQ(characters_of("\033f"), L"\033f");
  EXPECT_EQ(characters_of("\033\033[A"), L"\033[A");
}

TEST(TypedCharacters, PastedTextIsOneKey) {
  TerminalBytes one("a\033[200~\xC3\xA9 \033[1mb\033[0m\033[A\tc\033[201~z");
  EXPECT_EQ(one.all(), L"a\033[200~z");
  EXPECT_EQ(one.pasted(), L"\u00e9 b\tc");
  EXPECT_EQ(one.pasted(), L"");
  TerminalBytes open("\033[200~ab");
  EXPECT_EQ(open.all(), L"\033[200~");
  EXPECT_EQ(open.pasted(), L"ab");
}

TEST(TypedCharacters, LineBreaksOfPastedTextAreOneEach) {
  TerminalBytes lines("\033[200~a\rb\nc\r\nd\n\re\r\rf\n\ng\r\n\r\nh\033[201~");
  lines.all();
  EXPECT_EQ(lines.pasted(), L"a\nb\nc\nd\ne\n\nf\n\ng\n\nh");
}

}  // namespace
}  // namespace hearth::tools
