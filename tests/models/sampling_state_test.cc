#include "models/sampling/sampling_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "models/sampling/dry_penalty.h"
#include "models/tokenizer/from_json.h"

namespace hearth::models {
namespace {

TEST(SamplingOptions, RefusesNumbersOutOfRange) {
  const std::vector<SamplingOptions> bad = {
      {.temperature = -1},
      {.temperature = std::numeric_limits<double>::quiet_NaN()},
      {.temperature_range = -0.1},
      {.temperature_range = 0.5, .temperature_exponent = 0},
      {.top_k = -2},
      {.top_p = -0.1},
      {.top_p = 1.5},
      {.min_p = -0.1},
      {.typical_p = -0.1},
      {.top_n_sigma = -1},
      {.xtc_probability = 1.1},
      {.xtc_threshold = 0},
      {.repetition_penalty = 0},
      {.presence_penalty = std::numeric_limits<double>::infinity()},
      {.penalty_last = -2},
      {.dry_multiplier = -1},
      {.dry_base = 0.5},
      {.dry_allowed_length = 0},
      {.dry_breakers = {{}}},
      {.dry_breakers = {{10}}},
      {.mirostat_tau = -1},
      {.adaptive_target = 1.1},
      {.adaptive_target = -1.1},
      {.adaptive_decay = 1},
      {.logit_bias = {{10, 0}}},
      {.logit_bias = {{0, std::numeric_limits<float>::infinity()}}},
      {.suppressed = {-1}},
      {.steps = {SamplingStep::top_k, SamplingStep::top_k}},
      {.steps = {SamplingStep::top_k, SamplingStep::dry}},
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_THROW(check_sampling_options(bad[i], 10), Error) << i;
  }
  check_sampling_options({}, 10);
}

TEST(SamplingOptions, StepsHaveNames) {
  std::string names;
  for (const SamplingStep step : default_sampling_steps()) {
    names += (names.empty() ? "" : ";") + std::string(name(step));
  }
  EXPECT_EQ(names,
            "penalties;dry;top_n_sigma;top_k;typical_p;top_p;min_p;xtc;temperature;adaptive_p");
  EXPECT_EQ(sampling_steps_from(names), default_sampling_steps());
  EXPECT_EQ(sampling_steps_from("temperature,top_k"),
            (std::vector{SamplingStep::temperature, SamplingStep::top_k}));
  EXPECT_TRUE(sampling_steps_from("").empty());
  EXPECT_THROW(sampling_steps_from("top_k;topp"), Error);
}

TEST(SamplingState, PenaltiesCountTheLastTokens) {
  SamplingState state({.repetition_penalty = 1.5,
                       .presence_penalty = 0.25,
                       .frequency_penalty = 0.5,
                       .penalty_last = 4,
                       .logit_bias = {{5, 2}, {5, 1}}},
                      10);
  state.accept_prompt(std::vector<std::int32_t>{1, 2, 3, 3});
  EXPECT_TRUE(state.accept(5));
  const auto edits = state.logit_edits();
  ASSERT_EQ(edits.size(), 3u);
  EXPECT_EQ(edits[0].token, 2);
  EXPECT_EQ(edits[0].factor, 1.5f);
  EXPECT_EQ(edits[0].subtracted, 0.75f);
  EXPECT_EQ(edits[1].token, 3);
  EXPECT_EQ(edits[1].subtracted, 1.25f);
  EXPECT_EQ(edits[2].token, 5);
  EXPECT_EQ(edits[2].bias, 3);
  EXPECT_EQ(state.draws(), 1u);
  EXPECT_THROW(state.accept(10), Error);
  EXPECT_THROW(state.accept_prompt(std::vector<std::int32_t>{-1}), Error);
}

TEST(SamplingState, StepsThatAreLeftOutChangeNothing) {
  SamplingState state({.repetition_penalty = 1.5, .dry_multiplier = 1, .steps = {}}, 10);
  state.accept_prompt(std::vector<std::int32_t>{1, 2, 3, 1, 2, 3});
  EXPECT_TRUE(state.logit_edits().empty());
}

// By the definition, trying every earlier place.
std::map<std::int32_t, double> plain_dry(const std::vector<std::int32_t>& tokens,
                                         const SamplingOptions& options) {
  std::size_t longest = tokens.size();
  for (const auto& breaker : options.dry_breakers) {
    for (std::size_t end = breaker.size(); end <= tokens.size(); ++end) {
      if (std::equal(breaker.begin(), breaker.end(),
                     tokens.begin() + static_cast<std::ptrdiff_t>(end - breaker.size()))) {
        longest = std::min(longest, tokens.size() - end);
      }
    }
  }
  std::map<std::int32_t, double> penalties;
  for (std::size_t next = 1; next < tokens.size(); ++next) {
    std::size_t length = 0;
    while (length < next && length < longest &&
           tokens[next - 1 - length] == tokens[tokens.size() - 1 - length]) {
      ++length;
    }
    if (length < static_cast<std::size_t>(options.dry_allowed_length)) continue;
    const double penalty =
        options.dry_multiplier *
        std::pow(options.dry_base,
                 static_cast<double>(length) - static_cast<double>(options.dry_allowed_length));
    penalties[tokens[next]] = std::max(penalties[tokens[next]], penalty);
  }
  return penalties;
}

TEST(DryPenalties, AreThoseOfTheLongestRepetition) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    SamplingOptions options{.dry_multiplier = 0.8, .dry_base = 1.5};
    options.dry_allowed_length = 1 + static_cast<std::int64_t>(random() % 3);
    const auto symbols = static_cast<std::int32_t>(2 + random() % 4);
    const auto symbol = [&] { return static_cast<std::int32_t>(random() % 97) % symbols; };
    if (random() % 2 == 0) options.dry_breakers = {{symbol(), symbol()}, {symbols - 1}};
    if (random() % 4 == 0) options.dry_breakers = {{symbol(), symbol(), symbol()}};
    std::vector<std::int32_t> tokens(random() % 40);
    for (std::int32_t& token : tokens) token = symbol();
    const DryBreakers breakers(options.dry_breakers);
    const auto got = dry_penalties(tokens, options, breakers);
    const auto expected = plain_dry(tokens, options);
    ASSERT_EQ(got.size(), expected.size()) << round;
    for (const auto& [token, penalty] : expected) {
      ASSERT_NEAR(got.at(token), penalty, 1e-9 * penalty) << round;
    }
  }
}

TEST(DryPenalties, BreakersAreFoundInTokens) {
  const Tokenizer tokenizer = tokenizer_from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "bab": 4, "cc": 5},
          "merges": ["a b", "b ab", "c c"]},
          "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
          "decoder": {"type": "ByteLevel"}})",
      "test");
  using Sequences = std::vector<std::vector<std::int32_t>>;
  // "ab" stands in two tokens, and may begin at the end of one and go on in the next.
  EXPECT_EQ(dry_breakers_of(tokenizer, std::vector<std::string>{"ab"}),
            (Sequences{{0, 1}, {2}, {4}}));
  EXPECT_EQ(dry_breakers_of(tokenizer, std::vector<std::string>{"", "bc"}),
            (Sequences{{1, 3}, {2, 3}, {4, 3}}));
  const DryBreakers breakers(Sequences{{0, 1}, {3}});
  EXPECT_EQ(breakers.unbroken(std::vector<std::int32_t>{0, 1, 2, 2}), 2u);
  EXPECT_EQ(breakers.unbroken(std::vector<std::int32_t>{1, 2, 1}), 3u);
  EXPECT_EQ(breakers.unbroken(std::vector<std::int32_t>{0, 3}), 0u);
}

TEST(DryPenalties, StayFinite) {
  const std::vector<std::int32_t> tokens(5000, 1);
  const SamplingOptions options{.dry_multiplier = 1e6};
  const auto penalties = dry_penalties(tokens, options, DryBreakers({}));
  EXPECT_TRUE(std::isfinite(static_cast<float>(penalties.at(1))));
  EXPECT_GT(penalties.at(1), 1e38);
}

}  // namespace
}  // namespace hearth::models
