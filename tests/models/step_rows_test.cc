#include "models/serving/step_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hearth::models {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(StepRows, AnswersFirst) {
  EXPECT_EQ(rows_of_step(Counts{1, 1, 1}, 8), (Counts{1, 1, 1}));
  EXPECT_EQ(rows_of_step(Counts{1, 1, 1}, 2), (Counts{1, 1, 1}));
  EXPECT_EQ(rows_of_step(Counts{1, 100}, 8), (Counts{1, 7}));
  EXPECT_EQ(rows_of_step(Counts{100}, 1000), (Counts{100}));
  EXPECT_EQ(rows_of_step(Counts{}, 4), Counts{});
}

TEST(StepRows, PromptsOneAfterTheOther) {
  EXPECT_EQ(rows_of_step(Counts{100, 100, 100}, 80), (Counts{80, 0, 0}));
  EXPECT_EQ(rows_of_step(Counts{100, 100, 100}, 180), (Counts{100, 80, 0}));
}

TEST(StepRows, ShortPromptsPassLongOnesThatGoOnAllTheSame) {
  EXPECT_EQ(rows_of_step(Counts{1000, 1, 50, 30}, 101), (Counts{25, 1, 45, 30}));
  EXPECT_EQ(rows_of_step(Counts{1000, 50, 30}, 200), (Counts{120, 50, 30}));
  // Answers alone fill the budget.
  EXPECT_EQ(rows_of_step(Counts{1, 9, 1, 9, 9}, 2), (Counts{1, 1, 1, 0, 0}));
}

TEST(StepRows, AllIsRunInTheEnd) {
  Counts pending = {700, 3, 1, 90, 512};
  for (int step = 0; step < 20; ++step) {
    Counts open;
    for (const std::int64_t count : pending) {
      if (count > 0) open.push_back(count);
    }
    const Counts rows = rows_of_step(open, 100);
    std::size_t at = 0;
    for (std::int64_t& count : pending) {
      if (count > 0) count -= rows[at++];
      ASSERT_GE(count, 0);
    }
  }
  EXPECT_EQ(pending, (Counts{0, 0, 0, 0, 0}));
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
