#include "tools/lm/text_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

namespace hearth::tools {
namespace {

// Bytes that differ from their neighbours in a way that shows where a window begins.
std::vector<std::byte> numbered(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + i / 251) % 256);
  return bytes;
}

void expect_windows(const TokenBatch& batch, std::span<const std::uint8_t> part) {
  ASSERT_EQ(batch.tokens.size(), static_cast<std::size_t>(batch.batch * batch.context));
  ASSERT_EQ(batch.targets.size(), batch.tokens.size());
  for (std::int64_t row = 0; row < batch.batch; ++row) {
    std::vector<std::uint8_t> window;
    const auto first = static_cast<std::size_t>(row * batch.context);
    for (std::int64_t i = 0; i < batch.context; ++i) {
      window.push_back(
          static_cast<std::uint8_t>(batch.tokens[first + static_cast<std::size_t>(i)]));
      if (i > 0) {
        EXPECT_EQ(batch.tokens[first + static_cast<std::size_t>(i)],
                  batch.targets[first + static_cast<std::size_t>(i) - 1]);
      }
    }
    window.push_back(static_cast<std::uint8_t>(
        batch.targets[first + static_cast<std::size_t>(batch.context) - 1]));
    EXPECT_NE(std::search(part.begin(), part.end(), window.begin(), window.end()), part.end());
  }
}

TEST(TextDataset, HoldsOutTheLastTwentieth) {
  const TextDataset data(numbered(1999), 16);
  EXPECT_EQ(data.train().size(), 1900u);
  EXPECT_EQ(data.held_out().size(), 99u);
  EXPECT_EQ(data.held_out().data(), data.train().data() + 1900);
}

TEST(TextDataset, TrainBatchesAreWindowsOfTheTrainingPart) {
  const TextDataset data(numbered(20000), 64);
  for (int step = 0; step < 20; ++step) {
    expect_windows(data.train_batch(1, step, 4), data.train());
  }
}

TEST(TextDataset, BatchesDependOnSeedAndStepAlone) {
  const TextDataset data(numbered(20000), 64);
  const TextDataset again(numbered(20000), 64);
  data.train_batch(1, 6, 3);
  EXPECT_EQ(data.train_batch(1, 7, 4).tokens, again.train_batch(1, 7, 4).tokens);
  EXPECT_NE(data.train_batch(1, 7, 4).tokens, data.train_batch(1, 8, 4).tokens);
  EXPECT_NE(data.train_batch(1, 7, 4).tokens, data.train_batch(2, 7, 4).tokens);
  // More rows leave the first ones as they are.
  const TokenBatch narrow = data.train_batch(1, 7, 2);
  const TokenBatch wide = data.train_batch(1, 7, 4);
  EXPECT_TRUE(std::equal(narrow.tokens.begin(), narrow.tokens.end(), wide.tokens.begin()));
}

TEST(TextDataset, EveryPlaceIsDrawnEquallyOften) {
  const TextDataset data(numbered(200), 4);  // 186 starts
  std::vector<int> counts(256);
  const int steps = 2000;
  for (int step = 0; step < steps; ++step) {
    const TokenBatch batch = data.train_batch(3, step, 8);
    for (int row = 0; row < 8; ++row)
      ++counts[static_cast<std::size_t>(batch.tokens[static_cast<std::size_t>(row * 4)])];
  }
  int drawn = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++drawn;
    EXPECT_NEAR(count, steps * 8 / 186.0, 6 * std::sqrt(steps * 8 / 186.0));
  }
  EXPECT_EQ(drawn, 186);
}

TEST(TextDataset, HeldOutBatchesCoverWhatIsAsked) {
  const TextDataset data(numbered(2'000'000), 100);
  const std::vector<TokenBatch> batches = data.held_out_batches(6);
  std::int64_t targets = 0;
  for (const TokenBatch& batch : batches) {
    EXPECT_EQ(batch.batch, 6);
    targets += static_cast<std::int64_t>(batch.targets.size());
    expect_windows(batch, data.held_out());
  }
  EXPECT_GE(targets, TextDataset::kEvaluationBytes);
  EXPECT_LT(targets, TextDataset::kEvaluationBytes + 600);
  const std::vector<TokenBatch> again = data.held_out_batches(6);
  for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(batches[i].tokens, again[i].tokens);
}

TEST(TextDataset, ShortHeldOutPartIsCoveredWhole) {
  // 250 held-out bytes, all different.
  std::vector<std::byte> text(5000);
  for (std::size_t i = 0; i < 250; ++i) text[4750 + i] = static_cast<std::byte>(i);
  for (const std::int64_t context : {1, 7, 100, 248, 249}) {
    for (const std::int64_t batch : {1, 2, 5}) {
      const TextDataset data(text, context);
      std::set<std::int32_t> covered;
      for (const TokenBatch& each : data.held_out_batches(batch)) {
        expect_windows(each, data.held_out());
        covered.insert(each.targets.begin(), each.targets.end());
      }
      EXPECT_EQ(covered.size(), 249u) << context << " " << batch;
    }
  }
}

TEST(TextDataset, SaysWhenATextIsTooShort) {
  EXPECT_NO_THROW(TextDataset(numbered(20 * 17), 16));
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{20 * 17 - 1}}) {
    try {
      TextDataset(numbered(size), 16);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("at least 340"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(TextDataset(numbered(1000), 0), Error);
  EXPECT_THROW(TextDataset(numbered(1000), -1), Error);
  EXPECT_THROW(TextDataset(numbered(1000), INT64_MAX), Error);
  EXPECT_THROW(TextDataset(numbered(1000), 16).train_batch(0, 0, 0), Error);
  EXPECT_THROW(TextDataset(numbered(1000), 16).held_out_batches(INT64_MAX), Error);
}

TEST(TextDataset, SaysWhenAFileIsUnreadable) {
  try {
    TextDataset::open("/nonexistent/text", 16);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
  }
}

}  // namespace
}  // namespace hearth::tools
