#include "models/sampling/adaptive_p.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "devices_under_test.h"
#include "hearth/ops.h"
#include "models/sampling/candidates.h"
#include "models/sampling/draw_tokens.h"
#include "models/sampling/fixed_point.h"
#include "sampling_reference.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kVocabulary = 40;

std::vector<float> scores_of_rows(std::mt19937* random, std::size_t rows) {
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> scores(rows * kVocabulary);
  for (float& score : scores) score = normal(*random);
  return scores;
}

std::vector<std::int32_t> drawn_tokens(const std::vector<float>& scores,
                                       std::vector<SamplingState>* states,
                                       Device device = Device()) {
  std::vector<SamplingState*> pointers;
  for (SamplingState& state : *states) pointers.push_back(&state);
  const auto rows = static_cast<std::int64_t>(states->size());
  std::vector<std::int32_t> tokens;
  for (const DrawnToken& drawn :
       draw_tokens(Array::from_data(scores, {rows, kVocabulary}, device), pointers)) {
    tokens.push_back(drawn.token);
  }
  return tokens;
}

// The average of earlier probabilities and what is aimed at, as the published algorithm has them:
// two decaying sums, which begin as if the target had always been met.
struct ReferenceHistory {
  explicit ReferenceHistory(const SamplingOptions& of)
      : options(of),
        sum(of.adaptive_target / (1 - of.adaptive_decay)),
        weight(1 / (1 - of.adaptive_decay)) {}

  double target() const { return std::clamp(2 * options.adaptive_target - sum / weight, 0.0, 1.0); }
  void accept(double probability) {
    sum = probability + options.adaptive_decay * sum;
    weight = 1 + options.adaptive_decay * weight;
  }

  SamplingOptions options;
  double sum, weight;
};

// What the steps before leave of a row.
testing::ReferenceRow row_before(const std::vector<float>& scores, const SamplingOptions& options) {
  testing::ReferenceRow row(scores);
  for (const SamplingStep step : options.steps) row.step(step, options);
  return row;
}

TEST(AdaptiveP, WeightsAreThoseOfTheDistances) {
  std::mt19937 random(21);
  for (const Device device : testing::devices_under_test()) {
    for (const double target : {0.0, 0.07, 0.3, 0.5, 0.9, 1.0}) {
      const std::vector<float> scores = scores_of_rows(&random, 1);
      Candidates candidates =
          highest_candidates(Array::from_data(scores, {1, kVocabulary}, device), kVocabulary);
      candidates =
          keep_top_k(candidates, Array::from_data(std::vector<std::int64_t>{30}, {1, 1}, device));
      const auto aimed = static_cast<std::int64_t>(std::ldexp(target, kGapBits));
      const Candidates favoured =
          favour_probability(candidates, candidate_weights(candidates),
                             Array::from_data(std::vector<std::int64_t>{aimed}, {1, 1}, device));
      testing::ReferenceRow row(scores);
      row.top_k(30);
      row.adaptive_p(target);
      const auto p = row.probabilities();
      const auto tokens = favoured.tokens.to_vector<std::int32_t>();
      const auto weights = candidate_weights(favoured).to_vector<std::int64_t>();
      double total = 0;
      for (const std::int64_t weight : weights) total += static_cast<double>(weight);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const double expected = p[static_cast<std::size_t>(tokens[i])];
        EXPECT_NEAR(static_cast<double>(weights[i]) / total, expected, 1e-5 * expected + 1e-11)
            << device.name() << " " << target << " " << i;
      }
    }
  }
}

TEST(AdaptiveP, RowsWithoutATargetStayAsTheyAre) {
  std::mt19937 random(22);
  const Candidates candidates = highest_candidates(
      Array::from_data(scores_of_rows(&random, 2), {2, kVocabulary}), kVocabulary);
  const Candidates favoured =
      favour_probability(candidates, candidate_weights(candidates),
                         Array::from_data(std::vector<std::int64_t>{-1, 1 << 23}, {2, 1}));
  const auto before = candidates.gaps.to_vector<std::int64_t>();
  const auto after = favoured.gaps.to_vector<std::int64_t>();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + kVocabulary, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + kVocabulary, before.end(), after.begin() + kVocabulary));
}

// Texts with histories of their own, side by side and in changing company.
TEST(AdaptiveP, EachTextRemembersHowLikelyItsTokensWere) {
  std::mt19937 random(23);
  const std::vector<SamplingOptions> options = {
      {.adaptive_target = 0.3, .seed = 1},
      {.min_p = 0.05, .adaptive_target = 0.5, .adaptive_decay = 0.5, .seed = 2},
      {.temperature = 0.8, .top_k = 5, .adaptive_target = 0.2, .adaptive_decay = 0.99, .seed = 3},
      {.top_p = 0.9, .adaptive_target = 0.9, .adaptive_decay = 0, .seed = 4},
      {.top_p = 0.9, .seed = 5},
  };
  std::vector<SamplingState> states;
  std::vector<ReferenceHistory> histories;
  for (const SamplingOptions& each : options) {
    states.emplace_back(each, kVocabulary);
    histories.emplace_back(each);
  }
  for (int step = 0; step < 60; ++step) {
    const std::vector<float> scores = scores_of_rows(&random, states.size());
    const std::vector<std::int32_t> tokens = drawn_tokens(scores, &states);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::vector<float> own(
          scores.begin() + static_cast<std::ptrdiff_t>(i * kVocabulary),
          scores.begin() + static_cast<std::ptrdiff_t>((i + 1) * kVocabulary));
      if (step % 10 == 0) {
        std::vector<SamplingState> alone = {states[i]};
        EXPECT_EQ(drawn_tokens(own, &alone).front(), tokens[i]) << step << " " << i;
      }
      const testing::ReferenceRow row = row_before(own, options[i]);
      histories[i].accept(row.probabilities()[static_cast<std::size_t>(tokens[i])]);
      ASSERT_TRUE(states[i].accept(tokens[i]));
      if (options[i].adaptive_target < 0) continue;
      ASSERT_NEAR(states[i].aimed_probability(), histories[i].target(), 1e-6) << step << " " << i;
    }
  }
}

// What a history leads to is drawn in proportion.
TEST(AdaptiveP, DrawsAimAtWhatTheHistoryAsksFor) {
  std::mt19937 random(24);
  const std::vector<float> scores = scores_of_rows(&random, 1);
  const SamplingOptions options{.top_k = 8, .adaptive_target = 0.4, .adaptive_decay = 0.8};
  std::vector<SamplingState> states;
  std::vector<float> rows;
  constexpr std::size_t kDraws = 40'000;
  const testing::ReferenceRow before = row_before(scores, options);
  const auto highest = static_cast<std::int32_t>(before.order().front());
  ReferenceHistory history(options);
  for (int i = 0; i < 3; ++i) {
    history.accept(before.probabilities()[static_cast<std::size_t>(highest)]);
  }
  for (std::size_t i = 0; i < kDraws; ++i) {
    SamplingOptions own = options;
    own.seed = i;
    states.emplace_back(own, kVocabulary);
    const double share = before.probabilities()[static_cast<std::size_t>(highest)];
    for (int step = 0; step < 3; ++step) {
      states.back().set_surprise(-std::log2(share));
      ASSERT_TRUE(states.back().accept(highest));
    }
    rows.insert(rows.end(), scores.begin(), scores.end());
  }
  testing::ReferenceRow row = before;
  row.adaptive_p(history.target());
  const auto shares = row.probabilities();
  std::vector<double> counts(kVocabulary);
  for (const std::int32_t token : drawn_tokens(rows, &states)) {
    counts[static_cast<std::size_t>(token)] += 1;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = shares[i] * kDraws;
    EXPECT_NEAR(counts[i], expected, 5 * std::sqrt(expected) + 1) << i;
    if (shares[i] == 0) {
      EXPECT_EQ(counts[i], 0) << i;
    }
  }
}

TEST(AdaptiveP, ProbabilitiesComeToTheTarget) {
  std::vector<float> scores(kVocabulary, -20);
  const std::vector<double> shares = {0.5, 0.3, 0.12, 0.08};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    scores[7 * i] = static_cast<float>(std::log(shares[i]));
  }
  for (const double target : {0.2, 0.3, 0.4}) {
    std::vector<SamplingState> states = {
        SamplingState({.min_p = 0.05, .adaptive_target = target, .seed = 9}, kVocabulary)};
    double total = 0;
    constexpr int kSteps = 600;
    for (int i = 0; i < kSteps; ++i) {
      const auto token = drawn_tokens(scores, &states).front();
      ASSERT_EQ(token % 7, 0);
      total += shares[static_cast<std::size_t>(token / 7)];
      ASSERT_TRUE(states[0].accept(token));
    }
    EXPECT_NEAR(total / kSteps, target, 0.04);
  }
}

TEST(AdaptiveP, CopiesKeepHistoriesApart) {
  SamplingState state({.adaptive_target = 0.5, .adaptive_decay = 0.5}, kVocabulary);
  EXPECT_TRUE(state.learns_from_draws());
  EXPECT_EQ(state.aimed_probability(), 0.5);
  state.set_surprise(0);  // a probability of 1
  ASSERT_TRUE(state.accept(1));
  EXPECT_EQ(state.aimed_probability(), 0.25);
  SamplingState copy = state;
  copy.set_surprise(std::numeric_limits<double>::infinity());
  ASSERT_TRUE(copy.accept(2));
  EXPECT_EQ(copy.aimed_probability(), 0.625);
  EXPECT_EQ(state.aimed_probability(), 0.25);
  ASSERT_TRUE(state.accept(3));  // was not drawn, and teaches nothing
  EXPECT_EQ(state.aimed_probability(), 0.25);
  EXPECT_EQ(copy.aimed_probability(), 0.625);
}

TEST(AdaptiveP, IsAStepThatComesLast) {
  using enum SamplingStep;
  const auto aims = [](SamplingOptions options) {
    options.adaptive_target = 0.2;
    return SamplingState(options, kVocabulary).aims_at_probability();
  };
  EXPECT_TRUE(aims({}));
  EXPECT_THROW(aims({.mirostat = Mirostat::second}), Error);
  EXPECT_FALSE(aims({.steps = {top_k}}));
  EXPECT_FALSE(SamplingState({}, kVocabulary).learns_from_draws());
  std::mt19937 random(26);
  const std::vector<float> scores = scores_of_rows(&random, 1);
  const auto drawn = [&](std::vector<SamplingStep> steps) {
    std::vector<std::int32_t> tokens;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      std::vector<SamplingState> states = {SamplingState(
          {.top_k = 4, .adaptive_target = 0.1, .seed = seed, .steps = steps}, kVocabulary)};
      tokens.push_back(drawn_tokens(scores, &states).front());
    }
    return tokens;
  };
  EXPECT_EQ(drawn({adaptive_p, top_k, temperature}), drawn({top_k, temperature, adaptive_p}));
  EXPECT_NE(drawn({top_k, temperature}), drawn({top_k, temperature, adaptive_p}));
  check_sampling_options({.steps = {adaptive_p, penalties, top_k}}, kVocabulary);
}

}  // namespace
}  // namespace hearth::models
