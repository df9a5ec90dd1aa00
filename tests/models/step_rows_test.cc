#include "models/serving/step_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hearth::models {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(StepRows, AnswersFirstThenPromptsInEqualParts) {
  EXPECT_EQ(rows_of_step(Counts{1, 1, 1}, 8), (Counts{1, 1, 1}));
  EXPECT_EQ(rows_of_step(Counts{1, 100}, 8), (Counts{1, 7}));
  EXPECT_EQ(rows_of_step(Counts{100, 1, 100, 2}, 11), (Counts{4, 1, 4, 2}));
  EXPECT_EQ(rows_of_step(Counts{100}, 1000), (Counts{100}));
  EXPECT_EQ(rows_of_step(Counts{}, 4), Counts{});
}

TEST(StepRows, NobodyIsLeftOut) {
  EXPECT_EQ(rows_of_step(Counts{1, 9, 1, 9, 9}, 2), (Counts{1, 1, 1, 1, 1}));
}

TEST(StepRows, BlocksOfPromptsRunWhole) {
  const BlockCuts cuts{200, 64};
  EXPECT_EQ(cuts.rows(0, 100), 64);
  EXPECT_EQ(cuts.rows(0, 10), 64);
  EXPECT_EQ(cuts.rows(64, 129), 129);
  EXPECT_EQ(cuts.rows(0, 200), 200);
  EXPECT_EQ(cuts.rows(0, 300), 255);
  // Behind a row where another text ended.
  EXPECT_EQ(cuts.rows(70, 100), 58);
  // The rest of the prompt and the answer.
  EXPECT_EQ(cuts.rows(192, 8), 8);
  EXPECT_EQ(cuts.rows(195, 100), 63);
  EXPECT_EQ(cuts.rows(256, 64), 63);
  EXPECT_TRUE(cuts.may_cut_at(128));
  EXPECT_FALSE(cuts.may_cut_at(160));
  EXPECT_TRUE(cuts.may_cut_at(193));
  EXPECT_EQ((BlockCuts{200, 1}).rows(7, 100), 100);

  const SavePoints points{200, 16, 32, cuts};
  EXPECT_EQ(points.next(0), 64);
  EXPECT_EQ(points.next(128), 192);
  EXPECT_FALSE(points.has(32));
  EXPECT_TRUE(points.has(64));
}

TEST(StepRows, StatesAreKeptWherePagesEnd) {
  const SavePoints points{100, 16, 32};
  EXPECT_EQ(points.next(0), 32);
  EXPECT_EQ(points.next(32), 64);
  EXPECT_EQ(points.next(64), 96);
  EXPECT_EQ(points.next(96), 100);
  EXPECT_FALSE(points.has(0));
  EXPECT_TRUE(points.has(64));
  EXPECT_TRUE(points.has(96));
  EXPECT_FALSE(points.has(100));
  EXPECT_FALSE(points.has(48));
  // A prompt that fills its pages: one row is left to run.
  const SavePoints whole{64, 16, 512};
  EXPECT_EQ(whole.next(0), 48);
  EXPECT_TRUE(whole.has(48));
  EXPECT_EQ(whole.next(48), 64);
  EXPECT_FALSE(whole.has(64));
}

}  // namespace
}  // namespace hearth::models
