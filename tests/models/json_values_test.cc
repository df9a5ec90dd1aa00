#include "models/files/json_values.h"

#include <gtest/gtest.h>

#include "error_text.h"

namespace hearth::models {
namespace {

using check::error_of;

const JsonSource kSource{"some.json", ErrorCode::corrupt_file};

JsonObject object_of(const std::string& text) {
  return std::get<JsonObject>(parse_json(text).value());
}

TEST(JsonValues, AreFoundByPaths) {
  const JsonObject object = object_of(
      R"({"a": {"b": {"c": 3, "flag": true}, "list": [1]}, "half": 0.5, "word": "x", "no": null})");
  EXPECT_EQ(find_integer(object, "a.b.c", kSource), 3);
  EXPECT_EQ(find_number(object, "a.b.c", kSource), 3.0);
  EXPECT_EQ(find_number(object, "half", kSource), 0.5);
  EXPECT_EQ(find_flag(object, "a.b.flag", kSource), true);
  EXPECT_EQ(find_text(object, "word", kSource), "x");
  ASSERT_NE(find_array(object, "a.list", kSource), nullptr);
  ASSERT_NE(find_object(object, "a.b", kSource), nullptr);
  EXPECT_THROW(find_array(object, "a.b", kSource), Error);
  EXPECT_THROW(find_object(object, "a.list", kSource), Error);
  for (const char* path : {"no", "none", "a.none", "no.a", "none.a"}) {
    EXPECT_EQ(find_value(object, path), nullptr) << path;
    EXPECT_EQ(find_number(object, path, kSource), std::nullopt) << path;
    EXPECT_EQ(find_text(object, path, kSource), std::nullopt) << path;
  }
  for (const char* path : {"word.none", "half.a", "a.list.b"}) {
    EXPECT_EQ(find_value(object, path), nullptr) << path;
    EXPECT_THROW(find_number(object, path, kSource), Error) << path;
  }
}

TEST(JsonValues, RefuseTheWrongTypeInTheNameOfTheirSource) {
  const auto message = [](const JsonValue& value, const JsonSource& source) {
    return error_of(source.code, [&] { as_integer(value, "a.b", source); });
  };
  EXPECT_EQ(message("x", kSource),
            R"(some.json: a.b is of the wrong type; got "x", expected an integer)");
  EXPECT_EQ(message(0.5, {"other.json", ErrorCode::invalid_argument}),
            "other.json: a.b is of the wrong type; got 0.5, expected an integer");
  const JsonArray many(1000, JsonValue("a long list"));
  EXPECT_LT(message(many, kSource).size(), 200u);
  EXPECT_EQ(as_integer(nullptr, "a.b", kSource), std::nullopt);
  EXPECT_EQ(as_number(std::int64_t{2}, "a.b", kSource), 2.0);
}

}  // namespace
}  // namespace hearth::models
