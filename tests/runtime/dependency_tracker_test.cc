#include "runtime/commands/dependencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hearth::runtime {
namespace {

std::vector<int> access(DependencyTracker& tracker, std::uintptr_t begin, std::int64_t bytes,
                        bool writes, int command) {
  std::vector<int> after;
  tracker.access(begin, bytes, writes, command, &after);
  std::sort(after.begin(), after.end());
  return after;
}

TEST(DependencyTracker, RangesThatTouchDoNotConflict) {
  DependencyTracker tracker;
  EXPECT_TRUE(access(tracker, 0, 16, true, 0).empty());
  EXPECT_TRUE(access(tracker, 16, 16, true, 1).empty());
  EXPECT_TRUE(access(tracker, 32, 0, true, 2).empty());
  EXPECT_EQ(access(tracker, 15, 1, false, 3), std::vector<int>{0});
  EXPECT_EQ(access(tracker, 15, 2, false, 4), (std::vector<int>{0, 1}));
}

TEST(DependencyTracker, ReadsRunSideBySideAndWritesWaitForThem) {
  DependencyTracker tracker;
  EXPECT_TRUE(access(tracker, 100, 8, false, 0).empty());
  EXPECT_TRUE(access(tracker, 104, 8, false, 1).empty());
  EXPECT_EQ(access(tracker, 96, 32, true, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(access(tracker, 120, 4, false, 3), std::vector<int>{2});
}

// Against the plain comparison of every pair: each conflict must be reachable through waits.
TEST(DependencyTracker, RandomAccessesMatchThePlainComparison) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    struct Access {
      std::uintptr_t begin, end;
      bool writes;
    };
    std::vector<Access> seen;
    std::vector<std::vector<bool>> reaches;
    DependencyTracker tracker;
    for (int command = 0; command < 40; ++command) {
      const std::uintptr_t begin = random() % 64;
      const auto bytes = static_cast<std::int64_t>(1 + random() % 16);
      const bool writes = random() % 3 == 0;
      const std::vector<int> after = access(tracker, begin, bytes, writes, command);
      std::vector<bool> reach(static_cast<std::size_t>(command), false);
      for (const int earlier : after) {
        ASSERT_LT(earlier, command);
        const Access& other = seen[static_cast<std::size_t>(earlier)];
        EXPECT_TRUE((writes || other.writes) && other.begin < begin + 16 && begin < other.end);
        reach[static_cast<std::size_t>(earlier)] = true;
        for (std::size_t i = 0; i < static_cast<std::size_t>(earlier); ++i) {
          if (reaches[static_cast<std::size_t>(earlier)][i]) reach[i] = true;
        }
      }
      const std::uintptr_t end = begin + static_cast<std::uintptr_t>(bytes);
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const bool conflicts =
            (writes || seen[i].writes) && seen[i].begin < end && begin < seen[i].end;
        EXPECT_TRUE(!conflicts || reach[i]) << "round " << round << ": " << command << " on " << i;
      }
      seen.push_back({begin, end, writes});
      reaches.push_back(std::move(reach));
    }
  }
}

}  // namespace
}  // namespace hearth::runtime
