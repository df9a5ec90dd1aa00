// Log probabilities of prompts, beside those of one pass over the whole prompt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/serving/scheduler.h"
#include "models/texts_alone.h"

namespace hearth::models {
namespace {

// Scores [rows, vocabulary] of all rows of a text at once.
std::vector<double> scores_of(const LoadedModel& loaded, const Tokens& tokens) {
  Sequences sequences(
      loaded.model,
      {.pages = 64, .page_size = 8, .keys = loaded.model.compute, .values = loaded.model.compute});
  Sequence sequence = sequences.begin();
  const SequenceRows rows{&sequence, tokens, static_cast<std::int64_t>(tokens.size())};
  return sequences.step({&rows, 1}).to_doubles();
}

std::vector<double> log_softmax(const std::vector<double>& scores, std::size_t row,
                                std::size_t vocabulary) {
  const std::vector<double> part(
      scores.begin() + static_cast<std::ptrdiff_t>(row * vocabulary),
      scores.begin() + static_cast<std::ptrdiff_t>((row + 1) * vocabulary));
  const double highest = *std::max_element(part.begin(), part.end());
  double total = 0;
  for (const double score : part) total += std::exp(score - highest);
  std::vector<double> logs;
  for (const double score : part) logs.push_back(score - highest - std::log(total));
  return logs;
}

// By the scores themselves; of equal ones the lowest token comes first.
std::int64_t rank_of(const std::vector<double>& scores, std::size_t row, std::size_t vocabulary,
                     std::int32_t token) {
  const double* const part = scores.data() + row * vocabulary;
  std::int64_t rank = 1;
  for (std::int32_t other = 0; other < static_cast<std::int32_t>(vocabulary); ++other) {
    if (part[other] > part[token] || (part[other] == part[token] && other < token)) ++rank;
  }
  return rank;
}

struct Scored {
  std::vector<GenerationToken> prompt;
  Tokens drawn;
  GenerationPiece last;
};

Scored read_scored(GenerationStream& stream) {
  Scored all;
  do {
    all.last = stream.next();
    EXPECT_TRUE(all.last.prompt.empty() || all.drawn.empty());  // the prompt comes first
    for (const GenerationToken& token : all.last.prompt) all.prompt.push_back(token);
    for (const GenerationToken& token : all.last.tokens) all.drawn.push_back(token.token);
  } while (all.last.finish == FinishReason::none);
  return all;
}

void expect_scores(const LoadedModel& loaded, const Scored& scored, const Tokens& tokens,
                   std::int64_t best) {
  const auto vocabulary = static_cast<std::size_t>(loaded.model.vocabulary());
  const std::vector<double> scores = scores_of(loaded, tokens);
  ASSERT_EQ(scored.prompt.size(), tokens.size() - 1);
  for (std::size_t row = 0; row + 1 < tokens.size(); ++row) {
    const std::vector<double> logs = log_softmax(scores, row, vocabulary);
    const GenerationToken& token = scored.prompt[row];
    EXPECT_EQ(token.token, tokens[row + 1]);
    EXPECT_NEAR(token.logprob, logs[static_cast<std::size_t>(token.token)], 1e-5) << row;
    EXPECT_EQ(token.rank, rank_of(scores, row, vocabulary, token.token)) << row;
    ASSERT_EQ(std::ssize(token.best), best);
    for (std::size_t i = 0; i < token.best.size(); ++i) {
      EXPECT_EQ(rank_of(scores, row, vocabulary, token.best[i].token),
                static_cast<std::int64_t>(i + 1));
    }
    std::vector<double> sorted = logs;
    std::sort(sorted.rbegin(), sorted.rend());
    for (std::size_t i = 0; i < token.best.size(); ++i) {
      EXPECT_NEAR(token.best[i].logprob, sorted[i], 1e-5);
      EXPECT_NEAR(logs[static_cast<std::size_t>(token.best[i].token)], sorted[i], 1e-5);
    }
  }
}

class PromptLogprobs : public ::testing::TestWithParam<std::string> {};

// Prompts in parts, beside others that draw or have scores of their own, twice: what the first left
// in the caches gives no scores and is computed again.
TEST_P(PromptLogprobs, AreThoseOfOnePass) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(
      loaded, {.pages = 120, .page_size = 8, .parallel = 6, .prefill = 24, .save_rows = 16});
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<GenerationRequest> requests;
    std::vector<std::shared_ptr<GenerationStream>> streams;
    for (std::uint64_t i = 0; i < 5; ++i) {
      requests.push_back(request_of(loaded, i, 20 + 17 * i, static_cast<std::int64_t>(7 * i)));
      if (i != 2) requests.back().prompt_logprobs = static_cast<std::int64_t>(i);
      streams.push_back(scheduler.submit(requests.back()));
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
      const Scored scored = read_scored(*streams[i]);
      EXPECT_EQ(scored.last.finish, FinishReason::length) << scored.last.error;
      EXPECT_EQ(scored.drawn, tokens_alone(loaded, requests[i])) << i;
      if (i == 2) {
        EXPECT_TRUE(scored.prompt.empty());
      } else {
        EXPECT_EQ(scored.last.cached_tokens, 0);
        expect_scores(loaded, scored, requests[i].tokens, static_cast<std::int64_t>(i));
      }
    }
  }
  EXPECT_EQ(scheduler.stats().pages_used, 0);
}

// All of the context, where nothing is drawn.
TEST_P(PromptLogprobs, ArePossibleOfAWholeContext) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(loaded, {.pages = 6, .page_size = 8, .parallel = 2, .prefill = 16});
  const auto longest = static_cast<std::uint64_t>(scheduler.longest_text());
  GenerationRequest request = request_of(loaded, 3, longest, 0);
  request.prompt_logprobs = 1;
  const Scored scored = read_scored(*scheduler.submit(request));
  EXPECT_EQ(scored.last.finish, FinishReason::length) << scored.last.error;
  expect_scores(loaded, scored, request.tokens, 1);
  request.most_tokens = 1;
  EXPECT_THROW(scheduler.submit(request), Error);
  EXPECT_THROW(scheduler.submit(request_of(loaded, 3, longest + 1, 0)), Error);
}

// Too few pages: texts that give way in the middle of their prompt, or behind it, give no score
// twice.
TEST_P(PromptLogprobs, ComeOnceWhereTextsGiveWay) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(loaded,
                      {.pages = 12, .page_size = 8, .parallel = 5, .prefill = 16, .save_rows = 8});
  std::vector<GenerationRequest> requests;
  std::vector<std::shared_ptr<GenerationStream>> streams;
  for (std::uint64_t i = 0; i < 5; ++i) {
    requests.push_back(request_of(loaded, 20 + i, 3 + 9 * i, 40));
    requests.back().prompt_logprobs = 1;
    streams.push_back(scheduler.submit(requests.back()));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Scored scored = read_scored(*streams[i]);
    EXPECT_EQ(scored.last.finish, FinishReason::length) << scored.last.error;
    EXPECT_EQ(scored.drawn, tokens_alone(loaded, requests[i])) << i;
    expect_scores(loaded, scored, requests[i].tokens, 1);
  }
  EXPECT_GT(scheduler.stats().preemptions, 0);
}

INSTANTIATE_TEST_SUITE_P(Some, PromptLogprobs,
                         ::testing::Values("llama", "gemma2", "mamba2", "qwen3_5"),
                         [](const auto& each) { return each.param; });

TEST(PromptLogprobs, OfATokenAloneAreNone) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 12, .page_size = 8});
  for (const std::int64_t most : {0, 3}) {
    GenerationRequest request = request_of(loaded, 1, 1, most);
    request.prompt_logprobs = 2;
    const Scored scored = read_scored(*scheduler.submit(request));
    EXPECT_TRUE(scored.prompt.empty());
    EXPECT_EQ(std::ssize(scored.drawn), most);
    EXPECT_EQ(scored.last.finish, FinishReason::length);
  }
}

}  // namespace
}  // namespace hearth::models
