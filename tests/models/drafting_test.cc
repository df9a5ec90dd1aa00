// Guesses at how texts go on: that they change nothing, and that good ones save steps.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "error_text.h"
#include "models/drafting/model_drafter.h"
#include "models/drafting/repeats.h"
#include "models/grammar/grammar.h"
#include "models/memory_limit.h"
#include "models/serving/scheduler.h"
#include "models/texts_alone.h"

namespace hearth::models {
namespace {

TEST(Repeats, GoOnAsTheyDidBefore) {
  Repeats repeats;
  EXPECT_EQ(repeats.next(Tokens{1, 2, 3, 4, 5}, 3), Tokens{});
  EXPECT_EQ(repeats.next(Tokens{1, 2, 3, 4, 5, 2, 3}, 3), (Tokens{4, 5, 2}));
  // The longer match wins, of equal ones the later.
  EXPECT_EQ(repeats.next(Tokens{1, 2, 3, 4, 5, 2, 3, 6, 1, 2, 3}, 2), (Tokens{4, 5}));
  EXPECT_EQ(repeats.next(Tokens{1, 2, 3, 4, 5, 2, 3, 6, 1, 2, 3, 9, 2, 3}, 1), Tokens{9});
  EXPECT_EQ(repeats.next(Tokens{1, 2, 3, 4, 5, 2, 3, 6, 1, 2, 3, 9, 2, 3}, 0), Tokens{});
}

TEST(Repeats, OverlapThemselves) {
  Repeats repeats;
  EXPECT_EQ(repeats.next(Tokens{7, 7, 7, 7}, 5), (Tokens{7, 7, 7, 7, 7}));
  EXPECT_EQ(repeats.next(Tokens{1, 2, 1, 2, 1, 2}, 5), (Tokens{1, 2, 1, 2, 1}));
}

TEST(Repeats, StartAnewForAnotherText) {
  Repeats repeats;
  EXPECT_EQ(repeats.next(Tokens{1, 2, 3, 1, 2}, 1), Tokens{3});
  EXPECT_EQ(repeats.next(Tokens{4, 5, 6, 4, 5}, 1), Tokens{6});
  EXPECT_EQ(repeats.next(Tokens{4, 5}, 1), Tokens{});
}

class Drafting : public ::testing::TestWithParam<std::string> {
 protected:
  // Several texts, some of them greedy, some with prompts that repeat themselves, and one of three
  // words only.
  std::vector<GenerationRequest> requests(const LoadedModel& loaded) {
    std::vector<GenerationRequest> all;
    for (std::uint64_t i = 0; i < 5; ++i) {
      all.push_back(request_of(loaded, i, 11 + 7 * i, 50));
      Tokens& tokens = all.back().tokens;
      const Tokens once = tokens;
      if (i % 2 == 0) tokens.insert(tokens.end(), once.begin(), once.end());
    }
    all[1].sampling.logit_bias = {{5, 60}, {6, 60}, {7, 60}};
    return all;
  }

  // Their answers, and what was counted.
  SchedulerStats expect_the_same(const LoadedModel& loaded, SchedulerOptions options) {
    options.pages = 120;
    options.page_size = 8;
    options.prefill = 24;
    Scheduler scheduler(loaded, options);
    const std::vector<GenerationRequest> all = requests(loaded);
    std::vector<std::shared_ptr<GenerationStream>> streams;
    for (const GenerationRequest& request : all) streams.push_back(scheduler.submit(request));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Answer answer = read(*streams[i]);
      EXPECT_EQ(answer.last.finish, FinishReason::length) << answer.last.error;
      EXPECT_EQ(answer.tokens, tokens_alone(loaded, all[i])) << i;
    }
    return scheduler.stats();
  }
};

TEST_P(Drafting, LookUpChangesNothing) {
  const LoadedModel loaded = loaded_golden(GetParam());
  const SchedulerStats stats =
      expect_the_same(loaded, {.parallel = 3, .save_rows = 16, .drafts = 12});
  EXPECT_GT(stats.tokens_guessed, 0);
  EXPECT_LE(stats.guesses_held, stats.tokens_guessed);
}

TEST_P(Drafting, AModelThatGuessesAlikeSavesSteps) {
  const LoadedModel loaded = loaded_golden(GetParam());
  const SchedulerStats stats = expect_the_same(
      loaded, {.parallel = 3, .save_rows = 16, .drafts = 12, .draft_model = &loaded});
  EXPECT_EQ(stats.guesses_held, stats.tokens_guessed);
  EXPECT_GT(stats.guesses_held, stats.tokens_out / 2);
  EXPECT_LT(stats.steps, stats.tokens_out / 3);
}

TEST_P(Drafting, AModelThatGuessesOtherwiseChangesNothing) {
  const LoadedModel loaded = loaded_golden(GetParam());
  LoadedModel other = loaded_golden(GetParam());
  // Other last layers: its guesses hold at times.
  other.model.output_norm = {};
  other.model.layers.pop_back();
  const SchedulerStats stats =
      expect_the_same(loaded, {.parallel = 2, .save_rows = 16, .drafts = 6, .draft_model = &other});
  EXPECT_GT(stats.tokens_guessed, 0);
}

// Pages that suffice for the texts but not for all guesses.
TEST_P(Drafting, GuessesGiveWayWherePagesEnd) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(loaded, {.pages = 6,
                               .page_size = 8,
                               .parallel = 2,
                               .save_rows = 8,
                               .drafts = 30,
                               .draft_model = &loaded});
  GenerationRequest request = request_of(loaded, 3, 9, 38);
  const auto stream = scheduler.submit(request);
  const auto beside = scheduler.submit(request_of(loaded, 4, 4, 20));
  EXPECT_EQ(read(*stream).tokens, tokens_alone(loaded, request));
  EXPECT_EQ(read(*beside).last.finish, FinishReason::length);
}

INSTANTIATE_TEST_SUITE_P(Families, Drafting,
                         ::testing::Values("llama", "mamba2", "lfm2", "qwen3_next", "gpt_oss"));

// What the device failed takes the caches, not the guesses behind it.
TEST(ModelDrafter, GuessesAgainAfterAFault) {
  const LoadedModel loaded = loaded_golden("llama");
  ModelDrafter drafter(loaded, loaded, {.pages = 40, .page_size = 8, .states = 2}, 32);
  const GenerationRequest request = request_of(loaded, 3, 20, 4);
  SamplingState sampling(request.sampling, loaded.model.vocabulary());
  sampling.accept_prompt(request.tokens);
  const auto guess = [&](std::int64_t text) {
    Draft draft{.text = text, .tokens = request.tokens, .sampling = &sampling, .most = 4};
    drafter.draft({&draft, 1});
    return draft.guess;
  };
  const Tokens expected = tokens_alone(loaded, request);
  EXPECT_EQ(guess(0), expected);
  {
    Device().trim();
    const testing::MemoryLimit limit(1);
    EXPECT_EQ(guess(1), Tokens{});
    EXPECT_EQ(guess(0), Tokens{});
  }
  EXPECT_EQ(guess(0), expected);
  EXPECT_EQ(guess(1), expected);
  drafter.forget(0);
  drafter.forget(7);  // one that it never saw
  EXPECT_EQ(guess(1), expected);
}

TEST(ModelDrafter, RefusesAModelOfOtherTokens) {
  const LoadedModel loaded = loaded_golden("llama");
  LoadedModel other = loaded_golden("llama");
  other.tokenizer =
      tokenizer_from_gguf({{"tokenizer.ggml.model", "llama"},
                           {"tokenizer.ggml.tokens", std::vector<std::string>{"a"}},
                           {"tokenizer.ggml.token_type", std::vector<std::int32_t>{1}},
                           {"tokenizer.ggml.scores", std::vector<float>{0}}},
                          "test");
  const std::string error = check::error_of(ErrorCode::invalid_argument, [&] {
    const ModelDrafter drafter(other, loaded, {.pages = 4, .page_size = 8}, 32);
  });
  EXPECT_TRUE(check::contains(error, "draft model: other tokens; got a for token 0")) << error;
}

}  // namespace
}  // namespace hearth::models
