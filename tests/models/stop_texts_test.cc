#include "models/serving/stop_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "error_text.h"

namespace hearth::models {
namespace {

TEST(StopTexts, HoldBackWhatMayBeginOne) {
  StopTexts stops({"END", "\n\n"});
  EXPECT_EQ(stops.push("an E"), "an ");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("E"), "EN");
  EXPECT_EQ(stops.push("ND, more"), "");
  EXPECT_TRUE(stops.is_stopped());
  EXPECT_EQ(stops.push("anything"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopTexts, TheEndLetsGoOfWhatWasHeld) {
  StopTexts stops({"aab"});
  EXPECT_EQ(stops.push("xaa"), "x");
  EXPECT_EQ(stops.finish(), "aa");
  EXPECT_FALSE(stops.is_stopped());
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [] { StopTexts none({"a", ""}); }), "empty"));
}

// Against a search in the whole text, cut in all kinds of ways.
TEST(StopTexts, RandomTextsEndWhereTheFirstStopEnds) {
  std::mt19937 random(3);
  const auto text_of = [&](std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (std::size_t i = 0; i < 1 + random() % 3; ++i) stops.push_back(text_of(2 + random() % 6));
    const std::string text = text_of(40);
    std::size_t end = std::string::npos, begin = text.size();
    for (const std::string& stop : stops) {
      const std::size_t at = text.find(stop);
      if (at == std::string::npos) continue;
      const std::size_t its_end = at + stop.size();
      if (its_end < end || (its_end == end && at < begin)) {
        end = its_end;
        begin = at;
      }
    }
    StopTexts made(stops);
    std::string out;
    for (std::size_t at = 0; at < text.size() && !made.is_stopped();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 5, text.size() - at);
      out += made.push(text.substr(at, size));
      EXPECT_TRUE(text.starts_with(out));
      at += size;
    }
    EXPECT_EQ(made.is_stopped(), end != std::string::npos);
    if (!made.is_stopped()) out += made.finish();
    EXPECT_EQ(out, text.substr(0, begin));
  }
}

}  // namespace
}  // namespace hearth::models
