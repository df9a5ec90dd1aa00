#include "models/sampling/draw_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "devices_under_test.h"
#include "hearth/ops.h"
#include "models/sampling/candidates.h"
#include "models/sampling/sampling_chain.h"
#include "models/sampling/score_edits.h"
#include "sampling_reference.h"

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

// The same draws without a short cut.
DrawnArrays draw_from_all(const Array& logits, std::span<SamplingState* const> states) {
  const NoGrad no_grad;
  return draw_from_scores(edited_scores(logits, states), states, Candidacy::all).drawn;
}

std::vector<float> random_scores(std::mt19937* random, std::size_t count, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> scores(count);
  for (float& score : scores) score = normal(*random);
  return scores;
}

// The probabilities by the definitions.
std::vector<double> expected_shares(const std::vector<float>& scores,
                                    const SamplingOptions& options) {
  testing::ReferenceRow row(scores);
  for (const SamplingStep step : options.steps) {
    const bool drops = step != SamplingStep::temperature;
    if (!drops || options.mirostat == Mirostat::off) row.step(step, options);
  }
  if (options.mirostat != Mirostat::off) row.mirostat(options.mirostat, 2 * options.mirostat_tau);
  if (options.adaptive_target >= 0) row.adaptive_p(options.adaptive_target);
  return row.probabilities();
}

// Pearson's test of counts; shares of 0 must have none.
void expect_distribution(const std::vector<std::int32_t>& tokens,
                         const std::vector<double>& shares) {
  std::vector<double> counts(shares.size());
  for (const std::int32_t token : tokens) {
    ASSERT_GE(token, 0);
    counts[static_cast<std::size_t>(token)] += 1;
  }
  double squares = 0, degrees = -1;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = shares[i] * static_cast<double>(tokens.size());
    if (shares[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
      continue;
    }
    squares += std::pow(counts[i] - expected, 2) / expected;
    ++degrees;
  }
  // Four standard deviations beyond the mean, and the tail of few degrees of freedom.
  EXPECT_LT(squares, degrees + 4 * std::sqrt(2 * degrees) + 8);
}

// Many texts with seeds of their own draw from one row of scores.
std::vector<std::int32_t> draw_often(const std::vector<float>& scores, SamplingOptions options,
                                     std::size_t draws) {
  std::vector<SamplingState> states;
  std::vector<float> rows;
  for (std::size_t i = 0; i < draws; ++i) {
    options.seed = 1000 + i;
    states.emplace_back(options, static_cast<std::int64_t>(scores.size()));
    rows.insert(rows.end(), scores.begin(), scores.end());
  }
  return draw(rows, &states);
}

// Options that each use other steps, to draw with side by side.
std::vector<SamplingOptions> various_options() {
  using enum SamplingStep;
  return {
      {},
      {.temperature = 0.6},
      {.temperature = 0},
      {.top_k = 5},
      {.top_p = 0.8},
      {.min_p = 0.1},
      {.typical_p = 0.7},
      {.top_n_sigma = 1.2},
      {.xtc_probability = 1, .xtc_threshold = 0.08},
      {.temperature = 0.8, .top_k = 8, .top_p = 0.9, .min_p = 0.05},
      {.temperature = 1.5, .top_k = 9, .top_p = 0.95, .typical_p = 0.9, .top_n_sigma = 2},
      {.temperature = 0, .xtc_probability = 1, .xtc_threshold = 0.1},
      {.temperature = 1.1, .temperature_range = 0.5, .temperature_exponent = 1.5, .top_k = 10},
      {.temperature = 0.9, .mirostat = Mirostat::first, .mirostat_tau = 1.2},
      {.mirostat = Mirostat::second, .mirostat_tau = 1.5},
      {.temperature = 0.7, .top_k = 6, .top_p = 0.9, .steps = {temperature, top_k, top_p}},
      {.temperature = 2, .top_p = 0.7, .min_p = 0.2, .steps = {min_p, temperature, top_p}},
      {.top_p = 0},
      {.typical_p = 0},
      {.adaptive_target = 0},
      {.min_p = 0.02, .adaptive_target = 0.4},
      {.temperature = 0.7, .top_k = 6, .adaptive_target = 1, .adaptive_decay = 0},
  };
}

TEST(DrawTokens, DrawsInProportion) {
  std::mt19937 random(5);
  for (const SamplingOptions& options : various_options()) {
    std::vector<float> scores = random_scores(&random, 12, 1.2f);
    if (options.mirostat == Mirostat::first) {  // near Zipf's law
      for (std::size_t i = 0; i < scores.size(); ++i) {
        scores[i] = -1.1f * std::log(static_cast<float>(i + 1)) + 0.01f * scores[i];
      }
    }
    expect_distribution(draw_often(scores, options, 100'000), expected_shares(scores, options));
  }
}

TEST(DrawTokens, XtcHappensAsOftenAsItShould) {
  const std::vector<float> scores = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  const SamplingOptions options{.xtc_probability = 0.25, .xtc_threshold = 0.25};
  // Where it happens the first of two is dropped.
  expect_distribution(draw_often(scores, options, 100'000),
                      {0.75 * 0.5, 0.75 * 0.3 + 0.25 * 0.6, 0.75 * 0.2 + 0.25 * 0.4});
}

TEST(DrawTokens, DrawsOfOneTextAreIndependent) {
  std::mt19937 random(6);
  const std::vector<float> scores = random_scores(&random, 9, 1);
  std::vector<SamplingState> states = {SamplingState({.seed = 77}, 9)};
  std::vector<std::int32_t> tokens, pairs;
  for (int i = 0; i < 8000; ++i) {
    tokens.push_back(draw(scores, &states).front());
    ASSERT_TRUE(states[0].accept(tokens.back()));
    if (i % 2 == 1) pairs.push_back(tokens[tokens.size() - 2] * 9 + tokens.back());
  }
  const std::vector<double> shares = expected_shares(scores, {});
  expect_distribution(tokens, shares);
  std::vector<double> of_pairs;
  for (const double a : shares) {
    for (const double b : shares) of_pairs.push_back(a * b);
  }
  expect_distribution(pairs, of_pairs);
}

TEST(DrawTokens, OnlyTheTextItselfDecides) {
  constexpr std::size_t kVocabulary = 300;
  std::mt19937 random(7);
  std::vector<SamplingState> together;
  std::vector<float> rows;
  for (std::uint64_t i = 0; i < 51; ++i) {
    SamplingOptions options = various_options()[i % various_options().size()];
    options.seed = i;
    if (i % 3 == 0) {
      options.repetition_penalty = 1.3;
      options.dry_multiplier = 0.8;
    }
    together.emplace_back(options, kVocabulary);
    const std::vector<std::int32_t> prompt = {1, 2, 3, 1, 2, 3, static_cast<std::int32_t>(i), 1, 2};
    together.back().accept_prompt(prompt);
    const auto scores = random_scores(&random, kVocabulary, 2);
    rows.insert(rows.end(), scores.begin(), scores.end());
  }
  std::vector<Device> devices = testing::devices_under_test();
  devices.push_back(testing::kernel_device_under_test());
  for (int step = 0; step < 3; ++step) {
    const std::vector<std::int32_t> tokens = draw(rows, &together, Device::named("cpu"));
    for (const Device device : devices) {
      std::vector<SamplingState> copies = together;
      EXPECT_EQ(draw(rows, &copies, device), tokens) << device.name();
    }
    devices.resize(1);  // kernels have shown that they agree
    for (std::size_t i = 0; i < together.size(); ++i) {
      std::vector<SamplingState> alone = {together[i]};
      const auto own = std::span(rows).subspan(i * kVocabulary, kVocabulary);
      EXPECT_EQ(draw({own.begin(), own.end()}, &alone).front(), tokens[i]) << i;
    }
    std::vector<SamplingState> reversed(together.rbegin(), together.rend());
    std::vector<float> reversed_rows;
    for (std::size_t i = together.size(); i-- > 0;) {
      const auto own = std::span(rows).subspan(i * kVocabulary, kVocabulary);
      reversed_rows.insert(reversed_rows.end(), own.begin(), own.end());
    }
    auto backwards = draw(reversed_rows, &reversed);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(backwards, tokens);
    for (std::size_t i = 0; i < together.size(); ++i) ASSERT_TRUE(together[i].accept(tokens[i]));
  }
}

// Of large vocabularies few tokens are sorted, and more where these do not decide: on the device
// all are.
TEST(DrawTokens, FewCandidatesGiveTheSameDraws) {
  constexpr std::int64_t kVocabulary = 5000;
  std::mt19937 random(12);
  using enum SamplingStep;
  const std::vector<SamplingOptions> options = {
      {},
      {.temperature = 0.7},
      {.top_p = 0.9},
      {.min_p = 0.02},
      {.temperature = 0},
      {.temperature = 1.3, .top_p = 0.97, .min_p = 0.001},
      {.top_k = 1000},
      {.top_k = 1000, .top_p = 0.9},
      {.temperature = 1.5, .top_k = 300, .top_p = 0.999, .top_n_sigma = 1},
      {.temperature = 0.5, .top_p = 0.99, .steps = {temperature, top_p}},
  };
  for (const float spread : {0.3f, 1.0f, 2.0f, 3.0f, 5.0f}) {
    std::vector<SamplingState> states;
    std::vector<SamplingState*> pointers;
    for (std::uint64_t i = 0; i < 100; ++i) {
      SamplingOptions own = options[i % options.size()];
      own.seed = i;
      states.emplace_back(own, kVocabulary);
    }
    for (SamplingState& state : states) pointers.push_back(&state);
    const Array logits = Array::from_data(
        random_scores(&random, 100 * static_cast<std::size_t>(kVocabulary), spread),
        {100, kVocabulary});
    const auto tokens = draw_from_all(logits, pointers).tokens.to_vector<std::int32_t>();
    const auto drawn = draw_tokens(logits, pointers);
    for (std::size_t i = 0; i < 100; ++i)
      EXPECT_EQ(drawn[i].token, tokens[i]) << spread << " " << i;
  }
}

TEST(DrawTokens, NumbersThatMeanOneTokenOrAll) {
  std::mt19937 random(31);
  const std::vector<float> scores = random_scores(&random, 30, 1);
  const auto highest = static_cast<std::int32_t>(std::ranges::max_element(scores) - scores.begin());
  const auto drawn = [&](SamplingOptions options) { return draw_often(scores, options, 50); };
  const std::vector<std::int32_t> always(50, highest), plain = drawn({});
  EXPECT_EQ(drawn({.temperature = 0}), always);
  EXPECT_EQ(drawn({.top_p = 0}), always);
  EXPECT_EQ(drawn({.top_k = 1}), always);
  EXPECT_EQ(drawn({.min_p = 1}), always);
  EXPECT_NE(plain, always);
  EXPECT_EQ(drawn({.top_k = 0}), plain);
  EXPECT_EQ(drawn({.top_k = -1}), plain);
  EXPECT_EQ(drawn({.top_p = 1}), plain);
}

TEST(DrawTokens, TheHighestScoreHasTheLowestTokenOfEqualOnes) {
  std::vector<SamplingState> states(1, SamplingState({.temperature = 0}, 5));
  EXPECT_EQ(draw({1, 3, 3, -0.0f, 0}, &states), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(draw({1e-9f, 2e-9f, 3e-9f, 0, 0}, &states), (std::vector<std::int32_t>{2}));
}

TEST(DrawTokens, RowsWithoutAnythingToDrawAreMarked) {
  std::vector<SamplingState> states(5, SamplingState({}, 3));
  const std::vector<float> scores = {kNan,       -kInfinity, 1,    0,    kInfinity,
                                     0,          kNan,       kNan, kNan, -kInfinity,
                                     -kInfinity, -kInfinity, 5,    kNan, -kInfinity};
  EXPECT_EQ(draw(scores, &states), (std::vector<std::int32_t>{2, 1, -1, -1, 0}));
  std::vector<SamplingState> greedy(5, SamplingState({.temperature = 0}, 3));
  EXPECT_EQ(draw(scores, &greedy), (std::vector<std::int32_t>{2, 1, -1, -1, 0}));
}

TEST(DrawTokens, BiasesAndBans) {
  std::vector<SamplingState> states = {
      SamplingState({.temperature = 0, .logit_bias = {{2, 3}, {2, 4}}}, 4),
      SamplingState({.temperature = 0, .logit_bias = {{0, -kInfinity}}, .suppressed = {1}}, 4),
      SamplingState({.temperature = 0}, 4)};
  const std::vector<float> scores = {9, 8, 3, 1, 9, 8, 3, 1, 9, 8, 3, 1};
  EXPECT_EQ(draw(scores, &states), (std::vector<std::int32_t>{2, 2, 0}));
}

TEST(DrawTokens, GrammarsLeaveTheProportionsOfWhatTheyAllow) {
  const auto grammar = std::make_shared<const grammar::Grammar>(
      grammar::Grammar::from_gbnf("root ::= \"b\" | \"c\""));
  const std::vector<std::string> bytes = {"a", "b", "c", ""};
  const auto trie = std::make_shared<const grammar::TokenTrie>(bytes, std::vector<std::int32_t>{3});
  const auto constraint = std::make_shared<grammar::Constraint>(grammar, trie);
  std::vector<SamplingState> states;
  std::vector<float> rows;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    states.emplace_back(SamplingOptions{.seed = i}, 4);
    if (i > 0) states.back().set_grammar(grammar::GrammarMatcher(constraint));
    rows.insert(rows.end(), {5, std::log(0.3f), std::log(0.7f), 6});
  }
  const auto tokens = draw(rows, &states);
  expect_distribution({tokens.begin() + 1, tokens.end()}, {0, 0.3, 0.7, 0});
  const SamplingState before = states[1];
  ASSERT_TRUE(states[1].accept(tokens[1]));
  EXPECT_FALSE(states[1].accept(0));
  EXPECT_EQ(states[1].draws(), 1u);
  EXPECT_EQ(draw(rows, &states)[1], 3);  // only the end
  states[1] = before;
  EXPECT_EQ(draw(rows, &states)[1], tokens[1]);
}

TEST(DrawTokens, GrammarsThatWaitRefuseOnlyWhatContradictsThem) {
  const auto grammar =
      std::make_shared<const grammar::Grammar>(grammar::Grammar::from_gbnf("root ::= \"<t>b\""));
  const std::vector<std::string> bytes = {"a", "<t>a", "<t>b", "b", ""};
  const auto trie = std::make_shared<const grammar::TokenTrie>(bytes, std::vector<std::int32_t>{4});
  const auto constraint = std::make_shared<grammar::Constraint>(grammar, trie);
  std::vector<SamplingState> states;
  std::vector<float> rows;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    // More scores than the grammar has tokens.
    states.emplace_back(SamplingOptions{.seed = i}, 6);
    states.back().set_grammar(
        grammar::GrammarMatcher(constraint, {.texts = {"<t>"}, .tokens = {}}));
    rows.insert(rows.end(), {std::log(0.1f), std::log(0.5f), std::log(0.2f), std::log(0.2f),
                             -kInfinity, std::log(1e-3f)});
  }
  const auto tokens = draw(rows, &states);
  expect_distribution(tokens, {0.2, 0, 0.4, 0.4, 0, 0});
  for (std::size_t i = 0; i < states.size(); ++i) ASSERT_TRUE(states[i].accept(tokens[i]));
}

TEST(DrawTokens, GivesLogprobsOfTheScoresAsTheyCame) {
  std::mt19937 random(8);
  const std::vector<float> scores = random_scores(&random, 500, 3);
  std::vector<float> rows;
  for (int i = 0; i < 3; ++i) rows.insert(rows.end(), scores.begin(), scores.end());
  std::vector<SamplingState> states(
      3, SamplingState({.temperature = 0, .logit_bias = {{7, 100}}}, 500));
  std::vector<SamplingState*> pointers = {&states[0], &states[1], &states[2]};
  const std::vector<std::int64_t> wanted = {3, -1, 0};
  const auto drawn = draw_tokens(Array::from_data(rows, {3, 500}), pointers, wanted);
  const testing::ReferenceRow reference(scores);
  const auto p = reference.probabilities();
  const auto order = reference.order();
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_EQ(drawn[0].token, 7);
  EXPECT_NEAR(drawn[0].logprob, std::log(p[7]), 1e-5);
  ASSERT_EQ(drawn[0].best.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(drawn[0].best[i].token, static_cast<std::int32_t>(order[i]));
    EXPECT_NEAR(drawn[0].best[i].logprob, std::log(p[order[i]]), 1e-5);
  }
  EXPECT_TRUE(std::isnan(drawn[1].logprob));
  EXPECT_TRUE(drawn[1].best.empty());
  EXPECT_EQ(drawn[2].logprob, drawn[0].logprob);
  EXPECT_TRUE(drawn[2].best.empty());
}

TEST(DrawTokens, MirostatComesToItsTarget) {
  std::mt19937 random(9);
  const std::vector<float> scores = random_scores(&random, 2000, 1.5f);
  std::vector<SamplingState> states = {
      SamplingState({.mirostat = Mirostat::second, .mirostat_tau = 4, .seed = 3}, 2000)};
  double surprise = 0;
  double before = states[0].mirostat_mu();
  EXPECT_EQ(before, 8);
  for (int i = 0; i < 600; ++i) {
    const auto token = draw(scores, &states).front();
    ASSERT_TRUE(states[0].accept(token));
    if (i >= 100) surprise += (before - states[0].mirostat_mu()) / 0.1 + 4;
    before = states[0].mirostat_mu();
  }
  EXPECT_NEAR(surprise / 500, 4, 0.2);
}

TEST(DrawTokens, WeightsAreThoseOfTheDraws) {
  std::mt19937 random(10);
  const std::vector<float> rows = random_scores(&random, 640, 2);
  std::vector<SamplingState> states;
  for (std::uint64_t i = 0; i < 10; ++i)
    states.emplace_back(SamplingOptions{.top_p = 0.9, .seed = i}, 64);
  std::vector<SamplingState*> pointers;
  for (SamplingState& state : states) pointers.push_back(&state);
  const DrawnArrays arrays = draw_from_all(Array::from_data(rows, {10, 64}), pointers);
  EXPECT_EQ(arrays.tokens.dtype(), DType::i32);
  EXPECT_EQ(arrays.tokens.to_vector<std::int32_t>(), draw(rows, &states));
  const auto weights = arrays.weights.to_vector<std::int64_t>();
  const auto totals = arrays.totals.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_GT(weights[i], 0);
    EXPECT_GE(totals[i], weights[i]);
  }
}

TEST(DrawTokens, RefusesWhatDoesNotFit) {
  SamplingState state({}, 3);
  SamplingState* pointer = &state;
  const std::span<SamplingState* const> states{&pointer, 1};
  const Array logits = zeros({1, 3});
  EXPECT_THROW(static_cast<void>(draw_tokens(zeros({2, 3}), states)), Error);
  EXPECT_THROW(static_cast<void>(draw_tokens(zeros({1, 4}), states)), Error);
  EXPECT_THROW(static_cast<void>(draw_tokens(zeros({3}), states)), Error);
  EXPECT_THROW(static_cast<void>(draw_tokens(zeros({1, 3}, DType::i32), states)), Error);
  EXPECT_THROW(static_cast<void>(draw_tokens(logits, states, std::vector<std::int64_t>{1, 1})),
               Error);
  EXPECT_TRUE(draw_tokens(zeros({0, 3}), {}).empty());
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
    EXPECT_GE(draw_tokens(cast(logits, dtype), states).front().token, 0);
  }
}

}  // namespace
}  // namespace hearth::models
