#include "core/python_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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

}  // namespace
}  // namespace hearth
