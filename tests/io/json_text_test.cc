#include "io/json_text.h"

#include <gtest/gtest.h>

namespace hearth::io {
namespace {

using std::string_literals::operator""s;

TEST(JsonText, ReadsStrings) {
  EXPECT_EQ(JsonScanner(" \"abc\"").take_string(), "abc");
  EXPECT_EQ(JsonScanner("\"\"").take_string(), "");
  EXPECT_EQ(JsonScanner(R"("\"\\\/\b\f\n\r\t")").take_string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(JsonScanner(R"("\u0041\u00e9\u20AC\ud83d\ude00")").take_string(),
            "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(JsonScanner(R"("\u0000")").take_string(), "\0"s);
  EXPECT_EQ(JsonScanner("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"").take_string(),
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(JsonText, RefusesBrokenStrings) {
  for (const std::string& text : {"\""s,
                                  "\"abc"s,
                                  "abc"s,
                                  ""s,
                                  "\"\\"s,
                                  "\"\\\""s,
                                  "\"\\x\""s,
                                  "\"\\u12\""s,
                                  "\"\\u12g4\""s,
                                  "\"\\ud800\""s,
                                  "\"\\ud800\\u0041\""s,
                                  "\"\\udc00\""s,
                                  "\"\\u123"s,
                                  "\"\n\""s,
                                  "\"\0\""s,
                                  "\"\x1f\""s,
                                  "\"\x80\""s,
                                  "\"\xc0\x80\""s,
                                  "\"\xc3\""s,
                                  "\"\xe0\x80\x80\""s,
                                  "\"\xed\xa0\x80\""s,
                                  "\"\xf0\x80\x80\x80\""s,
                                  "\"\xf4\x90\x80\x80\""s,
                                  "\"\xf5\x80\x80\x80\""s,
                                  "\"\xe2\x82"s,
                                  "\"\xff\""s}) {
    JsonScanner scanner(text);
    EXPECT_FALSE(scanner.take_string()) << text;
    EXPECT_EQ(scanner.position(), 0u) << text;
  }
}

TEST(JsonText, ReadsUnsignedIntegers) {
  EXPECT_EQ(JsonScanner("0").take_unsigned(), 0u);
  EXPECT_EQ(JsonScanner(" 120,").take_unsigned(), 120u);
  EXPECT_EQ(JsonScanner("18446744073709551615").take_unsigned(), 18446744073709551615u);
  for (const char* text : {"", "-1", "+1", "01", "00", "1.0", "1e3", "1E3", "x", "\"1\"",
                           "18446744073709551616", "99999999999999999999999999"}) {
    EXPECT_FALSE(JsonScanner(text).take_unsigned()) << text;
  }
}

TEST(JsonText, WritesWhatItReads) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  const std::optional<std::string> json = json_string(all);
  ASSERT_TRUE(json);
  JsonScanner scanner(*json);
  EXPECT_EQ(scanner.take_string(), all);
  EXPECT_TRUE(scanner.at_end());
  EXPECT_EQ(json_string("\x01\n"), "\"\\u0001\\n\"");
  EXPECT_FALSE(json_string("\xff"));
}

}  // namespace
}  // namespace hearth::io
