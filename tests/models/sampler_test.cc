#include "models/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hearth::models {
namespace {

const std::vector<float> kScores = {std::log(0.1f), std::log(0.6f), std::log(0.3f)};

std::vector<double> shares(const SamplerOptions& options) {
  Sampler sampler(options);
  std::vector<double> counts(3);
  for (int i = 0; i < 4000; ++i) counts[static_cast<std::size_t>(sampler.sample(kScores))] += 1;
  for (double& count : counts) count /= 4000;
  return counts;
}

TEST(Sampler, DrawsByProbability) {
  const auto share = shares({});
  EXPECT_NEAR(share[0], 0.1, 0.03);
  EXPECT_NEAR(share[1], 0.6, 0.03);
  EXPECT_NEAR(share[2], 0.3, 0.03);
}

TEST(Sampler, TemperatureSharpens) {
  EXPECT_NEAR(shares({.temperature = 0.5})[1], 0.36 / 0.46, 0.03);
  EXPECT_EQ(shares({.temperature = 0})[1], 1);
}

TEST(Sampler, TopKAndTopP) {
  EXPECT_EQ(shares({.top_k = 2})[0], 0);
  EXPECT_NEAR(shares({.top_k = 2})[1], 2.0 / 3, 0.03);
  EXPECT_EQ(shares({.top_p = 0.5})[1], 1);
  EXPECT_EQ(shares({.top_p = 0.8})[0], 0);
}

TEST(Sampler, EachSeedHasItsDraws) {
  Sampler one({.seed = 1});
  Sampler again({.seed = 1});
  Sampler other({.seed = 2});
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const auto token = one.sample(kScores);
    EXPECT_EQ(token, again.sample(kScores));
    if (token == other.sample(kScores)) ++same;
  }
  EXPECT_LT(same, 80);
}

TEST(Sampler, BadScoresAndNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Sampler sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{kNan, -kInfinity, 1}), 2);
  EXPECT_EQ(sampler.sample(std::vector<float>{0, kInfinity}), 1);
  EXPECT_THROW(sampler.sample(std::vector<float>{kNan}), Error);
  EXPECT_THROW(sampler.sample({}), Error);
  EXPECT_THROW(Sampler({.temperature = -1}), Error);
  EXPECT_THROW(Sampler({.top_k = -1}), Error);
  EXPECT_THROW(Sampler({.top_p = 0}), Error);
}

}  // namespace
}  // namespace hearth::models
