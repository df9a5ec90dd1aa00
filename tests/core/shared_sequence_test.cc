// Copies that share what they have in common, against vectors.
#include "core/shared_sequence.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hearth {
namespace {

template <class T>
std::vector<T> items_of(const SharedSequence<T>& sequence) {
  return {sequence.view().begin(), sequence.view().end()};
}

TEST(SharedSequence, CopiesGoTheirOwnWays) {
  std::mt19937 random(5);
  std::vector<SharedSequence<int>> sequences(1);
  std::vector<std::vector<int>> expected(1);
  for (int step = 0; step < 20000; ++step) {
    const std::size_t i = random() % sequences.size();
    switch (random() % 5) {
      case 0:
        if (sequences.size() < 6) {
          sequences.push_back(sequences[i]);
          expected.push_back(expected[i]);
        } else {
          sequences.pop_back();
          expected.pop_back();
        }
        break;
      case 1: {
        const std::size_t j = random() % sequences.size();
        sequences[j] = sequences[i];
        expected[j] = std::vector<int>(expected[i]);
        break;
      }
      case 2: {
        const std::vector<int> more = {step, -step, 7};
        sequences[i].append(more);
        expected[i].insert(expected[i].end(), more.begin(), more.end());
        break;
      }
      default:
        sequences[i].push_back(step);
        expected[i].push_back(step);
    }
    for (std::size_t j = 0; j < sequences.size(); ++j) {
      ASSERT_EQ(items_of(sequences[j]), expected[j]) << step;
    }
  }
}

// Behind one of them, and behind a copy of one that has been longer, no element is moved.
TEST(SharedSequence, CopiesThatGrowInTurnShareTheirElements) {
  SharedSequence<int> first;
  first.append(std::vector<int>(1000, 3));
  for (int round = 0; round < 3; ++round) {
    std::vector<SharedSequence<int>> ahead{first};
    for (int i = 0; i < 20; ++i) {
      ahead.push_back(ahead.back());
      ahead.back().push_back(i);
    }
    EXPECT_EQ(ahead.front().view().data(), ahead.back().view().data()) << round;
    EXPECT_EQ(ahead.back().size(), 1020u);
    EXPECT_EQ(ahead.back().view().back(), 19);
  }
  EXPECT_EQ(first.size(), 1000u);
}

}  // namespace
}  // namespace hearth
