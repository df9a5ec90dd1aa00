// Which candidates run again, and what counts of their times.
#include "runtime/tune/trials.h"

#include <gtest/gtest.h>

namespace hearth::runtime {
namespace {

TEST(Trials, TheFarBehindRunOnce) {
  Trials trials(3, 1.5, false);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(trials.runs_next(i));
  trials.add(0, 1.6e-3);
  trials.add(1, 1e-3);
  EXPECT_FALSE(trials.runs_next(0));
  EXPECT_TRUE(trials.runs_next(1));
  EXPECT_TRUE(trials.runs_next(2));  // has yet to run
  trials.add(2, 1.5e-3);
  EXPECT_TRUE(trials.runs_next(2));
}

TEST(Trials, TheFirstRunCountsOnlyWhereThereIsNoOther) {
  Trials trials(3, 10, false);
  for (const double took : {9e-3, 3e-3, 1e-3, 2e-3}) trials.add(0, took);
  trials.add(1, 4e-3);
  const CandidateSeconds middles = trials.middles();
  EXPECT_DOUBLE_EQ(*middles[0], 2e-3);
  EXPECT_DOUBLE_EQ(*middles[1], 4e-3);
  EXPECT_FALSE(middles[2]);
}

// What ran before it was measured: all of its times count, and the default is always run.
TEST(Trials, Warm) {
  Trials trials(2, 1.2, true);
  trials.add(0, 9e-3);
  trials.add(1, 1e-3);
  EXPECT_TRUE(trials.runs_next(0));
  trials.add(0, 8e-3);
  trials.add(0, 1e-3);
  EXPECT_DOUBLE_EQ(*trials.middles()[0], 8e-3);
  trials.add(1, 0.5e-3);
  trials.add(0, 0.1e-3);
  EXPECT_FALSE(trials.runs_next(1));
}

TEST(Trials, NumbersAreFloatsOfManyValues) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const std::vector<std::byte> numbers = trial_numbers(dtype);
    ASSERT_GT(numbers.size(), 8000u * static_cast<std::size_t>(size_of(dtype)));
    EXPECT_NE(std::vector<std::byte>(numbers.begin(), numbers.begin() + 8),
              std::vector<std::byte>(numbers.begin() + 8, numbers.begin() + 16));
  }
  EXPECT_TRUE(trial_numbers(DType::i64).empty());
}

}  // namespace
}  // namespace hearth::runtime
