#include "core/python_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/json_object.h"
#include "error_text.h"

namespace hearth {
namespace {

TEST(PythonJson, HasWordsForNumbersThatAreNotFinite) {
  const auto value = parse_python_json(
      R"({"a": [0.0, Infinity, null, -Infinity], "NaN": "\"NaN, Infinity", "b": NaN, "c": "\\"})");
  ASSERT_TRUE(value);
  const auto& object = std::get<JsonObject>(*value);
  const auto& list = std::get<JsonArray>(object[0].second);
  EXPECT_EQ(list[0], JsonValue(0.0));
  EXPECT_EQ(list[1], JsonValue(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(list[2], JsonValue(nullptr));
  EXPECT_EQ(list[3], JsonValue(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(object[1].first, "NaN");
  EXPECT_EQ(object[1].second, JsonValue("\"NaN, Infinity"));
  EXPECT_TRUE(std::isnan(std::get<double>(object[2].second)));
  EXPECT_EQ(object[3].second, JsonValue("\\"));
}

TEST(PythonJson, RefusesWhatPythonDoes) {
  EXPECT_FALSE(parse_json("[Infinity]"));
  for (const char* text : {"", "Infinit", "[--Infinity]", "[nan]", "NaN1", "{NaN: 1}x", "\"NaN"}) {
    EXPECT_FALSE(parse_python_json(text)) << text;
  }
}

// Places are those of the text as it is, also behind words of Python.
TEST(PythonJson, SaysWhereATextIsNoJson) {
  const auto byte_of = [](const std::string& text) {
    JsonFault fault;
    EXPECT_FALSE(parse_python_json(text, &fault)) << text;
    return fault.byte;
  };
  EXPECT_EQ(byte_of(R"({"a": 1, "b": })"), 15u);
  EXPECT_EQ(byte_of(R"({"a": NaN, "b": })"), 17u);
  EXPECT_EQ(byte_of(R"({"a": -Infinity, "c": NaN, "b": })"), 33u);
  const auto error_of_text = [](const std::string& text) {
    return check::error_of(ErrorCode::corrupt_file,
                           [&] { parse_json_object(text, "file", "a configuration"); });
  };
  EXPECT_EQ(error_of_text(R"({"a": 1, "b": })"),
            "file: not a configuration; got no JSON, expected one JSON object; at byte 15");
  EXPECT_EQ(error_of_text("[]"),
            "file: not a configuration; got another value, expected one JSON object; at byte 0");
  EXPECT_EQ(error_of_text("{\"\xff\": 1}"),
            "file: not a configuration; got bytes that are no UTF-8, expected one JSON object; "
            "at byte 3");
}

}  // namespace
}  // namespace hearth
