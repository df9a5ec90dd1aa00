#include "models/sampling/draw_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Each state draws from its own row of the scores.
std::vector<std::int32_t> draw(const std::vector<float>& scores, std::vector<SamplingState>* states,
                               Device device = Device()) {
  std::vector<SamplingState*> pointers;
  for (SamplingState& state : *states) pointers.push_back(&state);
  const auto rows = static_cast<std::int64_t>(states->size());
  const Array logits =
      Array::from_data(scores, {rows, static_cast<std::int64_t>(scores.size()) / rows}, device);
  std::vector<std::int32_t> tokens;
  for (const DrawnToken& drawn : draw_tokens(logits, pointers)) tokens.push_back(drawn.token);
  return tokens;
}

// How often each token is drawn from one row of scores, of `draws` texts with seeds of their own.
std::vector<double> shares(const std::vector<float>& scores, const SamplingOptions& options,
                           std::size_t draws = 4096) {
  std::vector<SamplingState> states;
  std::vector<float> rows;
  for (std::size_t i = 0; i < draws; ++i) {
    SamplingOptions own = options;
    own.seed = 1000 + i;
    states.emplace_back(own, static_cast<std::int64_t>(scores.size()));
    rows.insert(rows.end(), scores.begin(), scores.end());
  }
  std::vector<double> counts(scores.size());
  for (const std::int32_t token : draw(rows, &states)) {
    counts[static_cast<std::size_t>(token)] += 1.0 / static_cast<double>(draws);
  }
  return counts;
}

const std::vector<float> kScores = {std::log(0.1f), std::log(0.6f), std::log(0.3f)};

TEST(DrawTokens, DrawsByProbability) {
  const auto share = shares(kScores, {});
  EXPECT_NEAR(share[0], 0.1, 0.03);
  EXPECT_NEAR(share[1], 0.6, 0.03);
  EXPECT_NEAR(share[2], 0.3, 0.03);
}

TEST(DrawTokens, TemperatureSharpens) {
  EXPECT_NEAR(shares(kScores, {.temperature = 0.5})[1], 0.36 / 0.46, 0.03);
  EXPECT_EQ(shares(kScores, {.temperature = 0}, 16)[1], 1);
}

TEST(DrawTokens, StepsDropTokens) {
  EXPECT_EQ(shares(kScores, {.top_k = 2})[0], 0);
  EXPECT_NEAR(shares(kScores, {.top_k = 2})[1], 2.0 / 3, 0.03);
  EXPECT_EQ(shares(kScores, {.top_p = 0.5}, 64)[1], 1);
  EXPECT_EQ(shares(kScores, {.top_p = 0.8})[0], 0);
  EXPECT_EQ(shares(kScores, {.min_p = 0.4})[0], 0);
  EXPECT_EQ(shares(kScores, {.min_p = 0.6}, 64)[1], 1);
}

TEST(DrawTokens, BadScores) {
  std::vector<SamplingState> states(5, SamplingState({}, 3));
  const std::vector<float> scores = {kNan,       -kInfinity, 1,    0,    kInfinity,
                                     0,          kNan,       kNan, kNan, -kInfinity,
                                     -kInfinity, -kInfinity, 5,    kNan, -kInfinity};
  EXPECT_EQ(draw(scores, &states), (std::vector<std::int32_t>{2, 1, -1, -1, 0}));
}

TEST(DrawTokens, GivesLogprobsOfTheScoresAsTheyCame) {
  SamplingState state({.temperature = 0, .logit_bias = {{2, 100}}}, 3);
  SamplingState* pointer = &state;
  const std::vector<std::int64_t> wanted = {2};
  const auto drawn = draw_tokens(Array::from_data(kScores, {1, 3}), {&pointer, 1}, wanted);
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(drawn[0].token, 2);
  EXPECT_NEAR(drawn[0].logprob, std::log(0.3), 1e-6);
  ASSERT_EQ(drawn[0].best.size(), 2u);
  EXPECT_EQ(drawn[0].best[0].token, 1);
  EXPECT_NEAR(drawn[0].best[0].logprob, std::log(0.6), 1e-6);
  EXPECT_EQ(drawn[0].best[1].token, 2);
}

}  // namespace
}  // namespace hearth::models
