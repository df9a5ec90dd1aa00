#include <gtest/gtest.h>

#include <limits>

#include "core/json_reader.h"
#include "core/json_writer.h"
#include "core/utf8.h"

namespace hearth {
namespace {

TEST(JsonWriter, WritesOneLine) {
  JsonWriter json;
  json.begin_object().member("a", 1).key("list").begin_array();
  json.value(true).value("x").value(nullptr).value(0.5).value(std::optional<int>());
  json.value(std::numeric_limits<double>::infinity()).begin_object().end_object();
  json.end_array().key("e").begin_array().end_array();
  EXPECT_EQ(json.end_object().take(), R"({"a":1,"list":[true,"x",null,0.5,null,null,{}],"e":[]})");
}

TEST(JsonWriter, Indents) {
  JsonWriter json(2);
  json.begin_object().key("a").begin_array().value(1).value(2).end_array().member("b", "c");
  EXPECT_EQ(json.end_object().take(), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": \"c\"\n}");
}

TEST(JsonWriter, EscapesText) {
  EXPECT_EQ(json_string("\"\\\b\f\n\r\t\x01/"), R"("\"\\\b\f\n\r\t\u0001/")");
  EXPECT_EQ(json_string("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(json_string("\xc3\xa9\xf0\x9f\x98\x80\xff", true), R"("\u00e9\ud83d\ude00\ufffd")");
  EXPECT_EQ(json_string("a\xff"), "\"a\xef\xbf\xbd\"");
}

TEST(JsonReader, ReadsBackWhatIsWritten) {
  JsonWriter writer;
  writer.begin_array().value(0.1).value(1e300).value(-5).value("\xe2\x82\xac \x02").value(false);
  const std::string text = writer.end_array().take();
  JsonReader json(text);
  json.begin_array();
  EXPECT_TRUE(json.next_element());
  EXPECT_EQ(json.number(), "0.1");
  EXPECT_TRUE(json.next_element());
  EXPECT_EQ(std::stod(std::string(json.number())), 1e300);
  EXPECT_TRUE(json.next_element());
  EXPECT_EQ(json.peek(), JsonKind::number);
  EXPECT_EQ(json.number(), "-5");
  EXPECT_TRUE(json.next_element());
  EXPECT_EQ(json.string(), "\xe2\x82\xac \x02");
  EXPECT_TRUE(json.next_element());
  EXPECT_FALSE(json.boolean());
  EXPECT_FALSE(json.next_element());
  json.end();
}

TEST(JsonReader, SkipsWhatIsNotWanted) {
  JsonReader json(R"( { "a" : [1, {"b": [], "c": {}}, "]"] , "d":null} )");
  std::string key;
  json.begin_object();
  ASSERT_TRUE(json.next_key(key));
  EXPECT_EQ(json.skip(), R"([1, {"b": [], "c": {}}, "]"])");
  ASSERT_TRUE(json.next_key(key));
  EXPECT_EQ(key, "d");
  EXPECT_EQ(json.peek(), JsonKind::null);
  json.null();
  EXPECT_FALSE(json.next_key(key));
  json.end();
}

// Where skip() or end() finds a fault in the text; npos where there is none.
std::size_t fault(const std::string& text) {
  JsonReader json(text);
  try {
    json.skip();
    json.end();
  } catch (const JsonError& error) {
    EXPECT_LE(error.position(), text.size());
    return error.position();
  }
  return std::string::npos;
}

TEST(JsonReader, TellsSoundFromBroken) {
  for (const char* text : {"0", "-0", "10.25e-3", "1E+2", "\"\"", "[]", "{}", "[[],[]]", "{\"\":0}",
                           " true\r\n", "\"\\u0000\\uD83D\\uDE00\""}) {
    EXPECT_EQ(fault(text), std::string::npos) << text;
  }
  for (const char* text :
       {"",      "01",       "-",           ".5",          "1.",       "1e",         "+1",
        "NaN",   "nul",      "truex",       "'a'",         "\"",       "\"\\x\"",    "\"\\u12\"",
        "[",     "[1",       "[1,]",        "[,1]",        "[1 2]",    "[}",         "{",
        "{]",    "{\"a\"}",  "{a:1}",       "{,}",         "{\"a\":}", "{\"a\":1,}", "\"\n\"",
        "[] []", "\"\xff\"", "\"\\ud800\"", "\"\\udc00\"", "/**/1"}) {
    EXPECT_NE(fault(text), std::string::npos) << text;
  }
  EXPECT_EQ(fault("[1, x]"), 4u);
  EXPECT_EQ(fault("{\"a\" 1}"), 5u);
  // Nesting costs a bit a level, no stack.
  EXPECT_EQ(fault(std::string(1'000'000, '[')), 1'000'000u);
  EXPECT_EQ(fault(std::string(1'000'000, '[') + std::string(1'000'000, ']')), std::string::npos);
}

TEST(Utf8, RoundTripsEveryCharacter) {
  for (char32_t code = 0; code <= 0x110000; ++code) {
    std::string text;
    append_utf8(text, code);
    const bool is_character = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    const Utf8Character found = first_character(text);
    ASSERT_EQ(found.bytes, is_character ? text.size() : 0) << static_cast<std::uint32_t>(code);
    if (is_character) {
      ASSERT_EQ(found.code, code);
    }
  }
  for (const char* text : {"\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace hearth
