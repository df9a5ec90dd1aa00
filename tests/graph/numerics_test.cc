// Numerics that a program asks for: of which ops they are, and on which threads.
#include "hearth/numerics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "hearth/ops.h"

namespace hearth::testing {
namespace {

constexpr Numerics kFast{.tf32 = true, .deterministic = false};

// A plan of its own for each `factor`.
Array scaled(const Array& x, int factor) { return reshape(x * 2.0, {factor, -1}) + 1.0; }

Array twelve() { return Array::from_data(std::vector<float>(12, 1.0f), {12}); }

std::int64_t misses_of(const Array& x, int factor) {
  const std::int64_t before = statistics().plan_misses;
  scaled(x, factor).eval();
  return statistics().plan_misses - before;
}

TEST(NumericsOfThread, ScopesNestAndEnd) {
  const Numerics before = numerics();
  {
    const WithNumerics outer(kFast);
    EXPECT_EQ(numerics(), kFast);
    {
      const WithNumerics inner({.tf32 = true});
      EXPECT_TRUE(numerics().deterministic);
    }
    EXPECT_EQ(numerics(), kFast);
    std::thread([&] { EXPECT_EQ(numerics(), before); }).join();
  }
  EXPECT_EQ(numerics(), before);
}

TEST(NumericsOfThread, ArePartOfAPlansIdentity) {
  const Array x = twelve();
  EXPECT_EQ(misses_of(x, 1), 1);
  EXPECT_EQ(misses_of(x, 1), 0);
  const WithNumerics fast(kFast);
  EXPECT_EQ(misses_of(x, 1), 1);
  EXPECT_EQ(misses_of(x, 1), 0);
  const WithNumerics precise({.precise_sums = true});
  EXPECT_EQ(misses_of(x, 1), 1);
  EXPECT_EQ(misses_of(x, 1), 0);
  const WithNumerics invariant({.batch_invariant = true});
  EXPECT_EQ(misses_of(x, 1), 1);
  EXPECT_EQ(misses_of(x, 1), 0);
}

TEST(NumericsOfThread, BelongToWhatIsRecordedUnderThem) {
  const Array x = twelve();
  const Array before = scaled(x, 2);
  Array within;
  {
    const WithNumerics same(numerics());
    EXPECT_FALSE(before.is_evaluated());
    const WithNumerics fast(kFast);
    EXPECT_TRUE(before.is_evaluated());
    within = scaled(x, 3);
    EXPECT_FALSE(within.is_evaluated());
  }
  EXPECT_TRUE(within.is_evaluated());
  EXPECT_EQ(misses_of(x, 2), 0);
  EXPECT_EQ(misses_of(x, 3), 1);
}

// A pending array that another thread needs is computed as its own thread asked for.
TEST(NumericsOfThread, GoWithArraysToOtherThreads) {
  const Array x = twelve();
  {
    const WithNumerics fast(kFast);
    EXPECT_EQ(misses_of(x, 4), 1);
  }
  Array made;
  std::atomic<int> stage{0};
  std::thread other([&] {
    const WithNumerics fast(kFast);
    made = scaled(x, 4);
    stage = 1;
    stage.notify_all();
    stage.wait(1);
  });
  stage.wait(0);
  const std::int64_t before = statistics().plan_misses;
  EXPECT_FALSE(made.is_evaluated());
  made.eval();
  EXPECT_EQ(statistics().plan_misses, before);
  EXPECT_FALSE(numerics().tf32);
  stage = 2;
  stage.notify_all();
  other.join();
}

}  // namespace
}  // namespace hearth::testing
