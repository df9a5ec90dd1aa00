#include "core/json.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

std::string again(const std::string& text) {
  const auto value = parse_json(text);
  return value ? json_text(*value) : "none";
}

TEST(Json, KeepsOrderAndTypes) {
  EXPECT_EQ(again(R"({"b":[1,-2,2.5,true,null,"x"],"a":{"c":[]}})"),
            R"({"b":[1,-2,2.5,true,null,"x"],"a":{"c":[]}})");
  EXPECT_EQ(again("[18446744073709551615]"), "[18446744073709551615]");
  const auto value = parse_json("[7, 7.0]");
  EXPECT_TRUE(std::holds_alternative<std::int64_t>(std::get<JsonArray>(*value)[0]));
  EXPECT_TRUE(std::holds_alternative<double>(std::get<JsonArray>(*value)[1]));
}

TEST(Json, OfEqualKeysTheLastValueStandsInTheFirstPlace) {
  EXPECT_EQ(again(R"({"a":1,"b":2,"a":{"a":3},"a":4})"), R"({"a":4,"b":2})");
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* text : {"", "[1,", "{\"a\"}", "1 2", "nul", "\"\\x\"", "[1]]"}) {
    EXPECT_FALSE(parse_json(text)) << text;
  }
  EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']')));
}

// Time that grows with the square of the members would not end.
TEST(Json, ManyMembers) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) {
    text += (i == 0 ? "\"key" : ",\"key") + std::to_string(i) + "\":" + std::to_string(i);
  }
  const auto value = parse_json(text + "}");
  ASSERT_TRUE(value);
  EXPECT_EQ(std::get<JsonObject>(*value).size(), 300000u);
}

}  // namespace
}  // namespace hearth
