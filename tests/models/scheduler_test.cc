// Many texts of one model at once: none of them feels the others.
#include "models/serving/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "error_text.h"
#include "models/memory_limit.h"
#include "models/serving/cache_plan.h"
#include "models/serving/full_queue.h"
#include "models/serving/text_generation.h"
#include "models/serving/text_runner.h"
#include "models/texts_alone.h"

namespace hearth::models {
namespace {

class Schedulers : public ::testing::TestWithParam<std::string> {};

// Nine texts that come at any time, with others that are cancelled in between.
TEST_P(Schedulers, AnswersAreThoseOfTextsAlone) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(
      loaded, {.pages = 120, .page_size = 8, .parallel = 6, .prefill = 24, .save_rows = 16});
  std::mt19937 random(11);
  std::vector<GenerationRequest> requests;
  std::vector<std::shared_ptr<GenerationStream>> streams, cancelled;
  for (std::uint64_t i = 0; i < 9; ++i) {
    requests.push_back(
        request_of(loaded, i, 1 + random() % 60, 1 + static_cast<std::int64_t>(random() % 40)));
    streams.push_back(scheduler.submit(requests.back()));
    if (i % 3 == 1) cancelled.push_back(scheduler.submit(request_of(loaded, 100 + i, 30, 100)));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 8));
    if (i % 3 == 2) cancelled.back()->cancel();
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Answer answer = read(*streams[i]);
    EXPECT_EQ(answer.last.finish, FinishReason::length) << answer.last.error;
    EXPECT_EQ(answer.tokens, tokens_alone(loaded, requests[i])) << i;
    EXPECT_EQ(answer.text, loaded.tokenizer.decode(answer.tokens));
    EXPECT_EQ(answer.last.new_tokens, requests[i].most_tokens);
    EXPECT_EQ(answer.last.prompt_tokens, static_cast<std::int64_t>(requests[i].tokens.size()));
  }
  for (const auto& stream : cancelled) EXPECT_NE(read(*stream).last.finish, FinishReason::failed);
}

// Far too few pages for all: the youngest give way and lose nothing.
TEST_P(Schedulers, TextsGiveWayWherePagesEnd) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(loaded,
                      {.pages = 12, .page_size = 8, .parallel = 5, .prefill = 16, .save_rows = 8});
  EXPECT_EQ(scheduler.longest_text(), 96);
  std::vector<GenerationRequest> requests;
  std::vector<std::shared_ptr<GenerationStream>> streams;
  for (std::uint64_t i = 0; i < 5; ++i) {
    requests.push_back(request_of(loaded, 20 + i, 5, 60));
    streams.push_back(scheduler.submit(requests.back()));
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Answer answer = read(*streams[i]);
    EXPECT_EQ(answer.last.finish, FinishReason::length) << answer.last.error;
    EXPECT_EQ(answer.tokens, tokens_alone(loaded, requests[i])) << i;
  }
  EXPECT_GT(scheduler.stats().preemptions, 0);
}

// A conversation: each turn computes what is new in it and nothing else.
TEST_P(Schedulers, TurnsComputeTheirNewRowsOnly) {
  const LoadedModel loaded = loaded_golden(GetParam());
  Scheduler scheduler(loaded, {.pages = 60, .page_size = 8, .parallel = 2});
  GenerationRequest request = request_of(loaded, 5, 21, 10);
  std::int64_t known = 0;
  for (int turn = 0; turn < 4; ++turn) {
    const std::int64_t rows_before = scheduler.stats().rows;
    const auto length = static_cast<std::int64_t>(request.tokens.size());
    const Answer answer = read(*scheduler.submit(request));
    EXPECT_EQ(answer.last.cached_tokens, known) << turn;
    EXPECT_EQ(answer.tokens, tokens_alone(loaded, request)) << turn;
    // The last token that was drawn has not run.
    known = length + answer.last.new_tokens - 1;
    EXPECT_EQ(scheduler.stats().rows - rows_before, known - answer.last.cached_tokens);
    request.tokens.insert(request.tokens.end(), answer.tokens.begin(), answer.tokens.end());
    request.tokens.insert(request.tokens.end(), {4, 5, 6, static_cast<std::int32_t>(7 + turn)});
  }
  EXPECT_EQ(scheduler.stats().hits, 3);
}

INSTANTIATE_TEST_SUITE_P(Some, Schedulers,
                         ::testing::Values("llama", "gemma2", "gpt_oss", "deepseek_v3", "mamba2",
                                           "qwen3_5", "qwen3_next"),
                         [](const auto& each) { return each.param; });

TEST(Scheduler, RefusesWhatItCannotRun) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 8, .page_size = 4});
  const auto refusal = [&](const auto& change) {
    GenerationRequest request = request_of(loaded, 1, 4, 4);
    change(request);
    return check::error_of(ErrorCode::invalid_argument, [&] { scheduler.submit(request); });
  };
  using Request = GenerationRequest;
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.tokens.clear(); }), "empty prompt"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.tokens.assign(32, 4); }), "1 to 31"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.tokens[0] = 1 << 20; }), "vocabulary"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.tokens[0] = -1; }), "vocabulary"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.most_tokens = -1; }), "most_tokens"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.least_tokens = -1; }), "least_tokens"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.least_tokens = 5; }), "0 to most_tokens"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.logprobs = -2; }), "logprobs"));
  EXPECT_TRUE(
      check::contains(refusal([](Request& r) { r.prompt_logprobs = -2; }), "prompt_logprobs"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.sampling.top_p = -1; }), "top_p"));
  EXPECT_TRUE(check::contains(refusal([](Request& r) { r.stops = {""}; }), "stop"));
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument,
                                              [&] { Scheduler other(loaded, {.parallel = 0}); }),
                              "parallel"));
}

// A bias draws the token that ends texts at once, where nothing forbids it; with guesses, too.
TEST(Scheduler, TextsHaveTheLeastTokensThatAreAskedFor) {
  const LoadedModel loaded = loaded_golden("llama");
  for (const std::int64_t drafts : {0, 3}) {
    Scheduler scheduler(loaded, {.pages = 20, .page_size = 8, .drafts = drafts});
    GenerationRequest request = request_of(loaded, 6, 5, 20);
    request.ignores_end = false;
    request.sampling.logit_bias = {{loaded.tokenizer.special().eos, 100}};
    const Answer none = read(*scheduler.submit(request));
    EXPECT_EQ(none.last.finish, FinishReason::stop) << none.last.error;
    EXPECT_TRUE(none.tokens.empty());
    request.least_tokens = 7;
    const Answer seven = read(*scheduler.submit(request));
    EXPECT_EQ(seven.last.finish, FinishReason::stop) << seven.last.error;
    EXPECT_EQ(seven.tokens.size(), 7u);
    // Without the bias the same tokens come, unless one of them ends the text.
    request.ignores_end = true;
    request.sampling.logit_bias.clear();
    request.sampling.suppressed = {loaded.tokenizer.special().eos};
    const Tokens alone = tokens_alone(loaded, request);
    EXPECT_EQ(seven.tokens, Tokens(alone.begin(), alone.begin() + 7));
  }
}

// A tokenizer may have more tokens than the model has rows of scores.
TEST(Scheduler, LeastTokensOfATokenizerWithMoreTokensThanTheModel) {
  LoadedModel loaded = loaded_golden("llama");
  const GenerationRequest usual = request_of(loaded, 6, 5, 4);
  GgufMetadata metadata = words_metadata(loaded.model.vocabulary() + 40);
  std::vector<std::string> texts = metadata.find("tokenizer.ggml.tokens")->as_texts();
  std::vector<std::int32_t> types(texts.size(), 1);
  texts.back() = "<|im_end|>";
  types[0] = 2;
  types[1] = types[2] = types.back() = 3;
  metadata.set("tokenizer.ggml.tokens", texts);
  metadata.set("tokenizer.ggml.token_type", types);
  loaded.tokenizer = tokenizer_from_gguf(metadata, "test");
  ASSERT_TRUE(loaded.tokenizer.is_end_of_generation(
      static_cast<std::int32_t>(loaded.model.vocabulary() + 39)));
  Scheduler scheduler(loaded, {.pages = 20, .page_size = 8});
  GenerationRequest request = usual;
  request.ignores_end = false;
  request.least_tokens = 4;
  EXPECT_EQ(read(*scheduler.submit(request)).tokens.size(), 4u);
}

// As vLLM has it: a stop counts where it stands behind them.
TEST(Scheduler, StopsAreLookedForBehindTheLeastTokens) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 20, .page_size = 8});
  GenerationRequest request = request_of(loaded, 6, 5, 20);
  request.stops = {","};  // of every word
  EXPECT_EQ(read(*scheduler.submit(request)).tokens.size(), 1u);
  request.least_tokens = 3;
  const Answer answer = read(*scheduler.submit(request));
  EXPECT_EQ(answer.last.finish, FinishReason::stop) << answer.last.error;
  ASSERT_EQ(answer.tokens.size(), 4u);
  const std::string words = loaded.tokenizer.decode(answer.tokens);
  EXPECT_EQ(answer.text + ",", words);
}

TEST(Scheduler, TooManyThatWaitAreRefused) {
  const LoadedModel loaded = loaded_golden("llama");
  std::vector<std::shared_ptr<GenerationStream>> streams;
  {
    Scheduler scheduler(loaded, {.pages = 40, .page_size = 8, .parallel = 1, .most_waiting = 2});
    bool is_full = false;
    for (int i = 0; i < 50 && !is_full; ++i) {
      try {
        streams.push_back(scheduler.submit(request_of(loaded, 1, 4, 150)));
      } catch (const FullQueue& error) {
        is_full = true;
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
        EXPECT_STREQ(error.what(), "generate: too many texts wait; got 3, expected at most 2");
      }
    }
    EXPECT_TRUE(is_full);
  }
  // The scheduler went: what had not ended is cancelled.
  EXPECT_EQ(read(*streams.back()).last.finish, FinishReason::cancelled);
  EXPECT_EQ(streams.back()->next().finish, FinishReason::cancelled);
}

TEST(Scheduler, WhatFailsFailsAlone) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 40, .page_size = 8});
  const GenerationRequest good = request_of(loaded, 4, 20, 30);
  GenerationRequest bad = good;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(loaded.model.vocabulary()); ++i) {
    bad.sampling.logit_bias.push_back({i, -std::numeric_limits<float>::infinity()});
  }
  const auto first = scheduler.submit(good), second = scheduler.submit(bad);
  const Answer failed = read(*second);
  EXPECT_EQ(failed.last.finish, FinishReason::failed);
  EXPECT_EQ(failed.last.error_code, ErrorCode::invalid_argument);
  EXPECT_TRUE(check::contains(failed.last.error,
                              "got all of them banned, by biases, a grammar or min_tokens"));
  EXPECT_EQ(read(*first).tokens, tokens_alone(loaded, good));
}

// The most that the device holds while these texts are written, one beside the other.
std::int64_t peak_of(const LoadedModel& loaded, const SchedulerOptions& options,
                     const std::vector<GenerationRequest>& requests) {
  Device().trim();
  Device().reset_peak();
  Scheduler scheduler(loaded, options);
  std::vector<std::shared_ptr<GenerationStream>> streams;
  for (const GenerationRequest& request : requests) streams.push_back(scheduler.submit(request));
  for (const auto& stream : streams) EXPECT_EQ(read(*stream).last.finish, FinishReason::length);
  return Device().memory().peak;
}

TEST(Scheduler, MemoryThatEndsFailsTheTextThatWantsIt) {
  const LoadedModel loaded = loaded_golden("llama");
  const SchedulerOptions options{.pages = 60, .page_size = 8, .prefill = 256};
  const GenerationRequest small = request_of(loaded, 4, 4, 60),
                          other = request_of(loaded, 5, 5, 60);
  const GenerationRequest large = request_of(loaded, 6, 150, 4);
  // Before anything is measured: what this thread recorded while it loaded runs here, too.
  const Tokens expected = tokens_alone(loaded, small), expected_other = tokens_alone(loaded, other);
  const std::int64_t least = peak_of(loaded, options, {small, other});
  const std::int64_t most = peak_of(loaded, options, {large});
  ASSERT_LT(least, most);
  Device().trim();
  Scheduler scheduler(loaded, options);
  const testing::MemoryLimit limit((least + most) / 2);
  const auto first = scheduler.submit(small), second = scheduler.submit(other);
  const Answer failed = read(*scheduler.submit(large));
  EXPECT_EQ(failed.last.finish, FinishReason::failed);
  EXPECT_EQ(failed.last.error_code, ErrorCode::out_of_memory) << failed.last.error;
  EXPECT_EQ(read(*first).tokens, expected);
  EXPECT_EQ(read(*second).tokens, expected_other);
  EXPECT_GE(scheduler.stats().faults, 1);
  EXPECT_FALSE(scheduler.stats().is_failing);
}

TEST(Scheduler, ADeviceThatIsGoneFailsTextsUntilItIsBack) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 60, .page_size = 8});
  const GenerationRequest request = request_of(loaded, 4, 20, 5);
  const Tokens expected = tokens_alone(loaded, request);
  {
    const testing::MemoryLimit limit(1);
    Device().trim();
    for (int i = 0; i < 2; ++i) {
      const Answer failed = read(*scheduler.submit(request));
      EXPECT_EQ(failed.last.finish, FinishReason::failed);
      EXPECT_NE(failed.last.error, "");
    }
    EXPECT_TRUE(scheduler.stats().is_failing);
  }
  EXPECT_EQ(read(*scheduler.submit(request)).tokens, expected);
  EXPECT_FALSE(scheduler.stats().is_failing);
}

TEST(Scheduler, EndsWhereItIsTold) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 40, .page_size = 8});
  GenerationRequest request = request_of(loaded, 4, 20, 30);
  const Tokens all = tokens_alone(loaded, request);
  // A stop that begins in the text of one token and ends in that of the next.
  const std::string before = loaded.tokenizer.decode({all.data(), 5});
  const std::string text = loaded.tokenizer.decode(all);
  const std::size_t cut = before.size() - 2;
  request.stops = {text.substr(cut, 4)};
  Answer answer = read(*scheduler.submit(request));
  EXPECT_EQ(answer.last.finish, FinishReason::stop);
  EXPECT_EQ(answer.last.stop, request.stops[0]);
  EXPECT_EQ(answer.text, text.substr(0, text.find(request.stops[0])));
  request.stops.clear();
  // The end of the text is not text.
  request.ignores_end = false;
  request.sampling.logit_bias = {{2, 1000}};
  answer = read(*scheduler.submit(request));
  EXPECT_EQ(answer.last.finish, FinishReason::stop);
  EXPECT_EQ(answer.last.stop, "");
  EXPECT_EQ(answer.text, "");
  EXPECT_TRUE(answer.tokens.empty());
  request = request_of(loaded, 4, 20, 0);
  answer = read(*scheduler.submit(request));
  EXPECT_EQ(answer.last.finish, FinishReason::length);
  // The context ends it, too.
  request = request_of(loaded, 4, 150, 1000);
  EXPECT_EQ(read(*scheduler.submit(request)).tokens.size(), 10u);
}

std::unique_ptr<GenerationStream> add_text(TextRunner& runner, const LoadedModel& loaded,
                                           const GenerationRequest& request) {
  auto stream = std::make_unique<GenerationStream>();
  Texts one;
  one.push_back(
      std::make_unique<RunningText>(loaded, runner.longest_text(), request, stream->channel()));
  runner.add(std::move(one));
  return stream;
}

// One that does not fit beside the first has its turn behind it.
TEST(TextRunner, NobodyWaitsForever) {
  const LoadedModel loaded = loaded_golden("llama");
  const SchedulerOptions options{.pages = 4, .page_size = 8, .parallel = 4};
  TextRunner runner(loaded.model, options);
  std::vector<GenerationRequest> requests = {
      request_of(loaded, 1, 4, 2), request_of(loaded, 2, 28, 3), request_of(loaded, 3, 30, 1)};
  std::vector<std::unique_ptr<GenerationStream>> streams;
  for (const GenerationRequest& request : requests) {
    streams.push_back(add_text(runner, loaded, request));
  }
  for (int i = 0; i < 30 && !runner.is_idle(); ++i) runner.step();
  EXPECT_TRUE(runner.is_idle());
  EXPECT_EQ(runner.stats().pages_used, 0);
  runner.flush();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(read(*streams[i]).tokens, tokens_alone(loaded, requests[i])) << i;
  }
}

// One that waits for more pages than there are beside the first, and is cancelled, keeps nobody
// from those that there are.
TEST(TextRunner, ACancelledTextHoldsNobodyUp) {
  const LoadedModel loaded = loaded_golden("llama");
  TextRunner runner(loaded.model, {.pages = 8, .page_size = 8, .parallel = 4});
  const auto first = add_text(runner, loaded, request_of(loaded, 1, 4, 40));
  runner.step();
  const auto large = add_text(runner, loaded, request_of(loaded, 2, 60, 1));
  const GenerationRequest request = request_of(loaded, 3, 4, 2);
  const auto small = add_text(runner, loaded, request);
  runner.step();
  EXPECT_EQ(runner.stats().running, 1);
  EXPECT_EQ(runner.stats().waiting, 2);
  large->cancel();
  for (int i = 0; i < 4; ++i) runner.step();
  EXPECT_EQ(runner.stats().running, 1);
  EXPECT_EQ(runner.stats().waiting, 0);
  runner.flush();
  EXPECT_EQ(read(*large).last.finish, FinishReason::cancelled);
  EXPECT_EQ(read(*small).tokens, tokens_alone(loaded, request));
  EXPECT_EQ(first->next().finish, FinishReason::none);
}

class SharedBeginnings : public ::testing::TestWithParam<std::string> {};

// Prompts that begin alike and come together: the later ones find what the first computed.
TEST_P(SharedBeginnings, AreComputedOnce) {
  const LoadedModel loaded = loaded_golden(GetParam());
  TextRunner runner(loaded.model, {.pages = 80, .page_size = 8, .prefill = 48});
  std::vector<GenerationRequest> requests(4, request_of(loaded, 3, 40, 3));
  std::vector<std::unique_ptr<GenerationStream>> streams;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    for (std::size_t at = 0; at < 8; ++at) {
      requests[i].tokens.push_back(3 + static_cast<std::int32_t>(i + at));
    }
    streams.push_back(add_text(runner, loaded, requests[i]));
  }
  for (int i = 0; i < 30 && !runner.is_idle(); ++i) runner.step();
  runner.flush();
  EXPECT_GE(runner.stats().tokens_cached, 2 * 40);
  EXPECT_GE(runner.stats().hits, 2);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(read(*streams[i]).tokens, tokens_alone(loaded, requests[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Some, SharedBeginnings,
                         ::testing::Values("llama", "gemma3", "mistral_window"),
                         [](const auto& each) { return each.param; });

// A text of many windows beside others, in pages of windows for hardly more than those: none is
// long, in any of them.
TEST(TextRunner, WindowsHaveFewPages) {
  const LoadedModel loaded = loaded_golden("gemma3");
  TextRunner runner(
      loaded.model,
      {.pages = 80, .page_size = 4, .parallel = 2, .prefill = 8, .shares_prefixes = false});
  const std::int64_t of_all = runner.stats().window_pages;
  EXPECT_LT(of_all, 80);
  std::vector<GenerationRequest> requests;
  std::vector<std::unique_ptr<GenerationStream>> streams;
  for (std::uint64_t i = 0; i < 3; ++i) {
    requests.push_back(request_of(loaded, i, 20 + 30 * i, 60));
    streams.push_back(add_text(runner, loaded, requests[i]));
  }
  std::int64_t most_used = 0;
  while (!runner.is_idle()) {
    runner.step();
    const SchedulerStats stats = runner.stats();
    // Of each the window of 11, a piece of 8 at most, and a page on either side.
    EXPECT_LE(stats.window_pages_used, stats.running * ((11 + 8) / 4 + 3));
    most_used = std::max(most_used, stats.window_pages_used);
  }
  runner.flush();
  EXPECT_GT(most_used, 0);
  EXPECT_EQ(runner.stats().window_pages_used, 0);
  EXPECT_GT(runner.stats().window_pages_kept, 0);
  EXPECT_EQ(runner.stats().preemptions, 0);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    EXPECT_EQ(read(*streams[i]).tokens, tokens_alone(loaded, requests[i])) << i;
  }
}

TEST(CachePlan, BytesThatHoldNoTextHaveNoCaches) {
  const LoadedModel loaded = loaded_golden("qwen3_5");
  LanguageConfig config = loaded.model.config;
  const DType compute = loaded.model.compute;
  EXPECT_EQ(fitting_caches(config, compute, {.cache_bytes = 1000}), std::nullopt);
  config.context = 1 << 13;
  const SchedulerOptions fitting = within_memory(config, compute, {}, std::int64_t{1} << 40);
  EXPECT_EQ(fitting.parallel, SchedulerOptions{}.parallel);
  EXPECT_EQ(fitting.cache_bytes, least_cache_bytes(config, compute, {}, config.context));
  EXPECT_EQ(longest_text(config, *fitting_caches(config, compute, fitting)), config.context);
  // Half of less is for states.
  const std::int64_t of_state = bytes_of_caches(config, {.pages = 0, .states = 1}, compute);
  const SchedulerOptions fewer = within_memory(config, compute, {}, 6 * of_state);
  EXPECT_EQ(fewer.parallel, 3);
  EXPECT_EQ(fewer.cache_bytes, 6 * of_state);
  EXPECT_EQ(within_memory(config, compute, {}, of_state).parallel, 1);
}

TEST(TextRunner, MemoryIsSharedOutBetweenPagesAndStates) {
  const LoadedModel loaded = loaded_golden("qwen3_5");
  const SchedulerOptions options{.cache_bytes = 1 << 20, .page_size = 8, .parallel = 2};
  const CacheOptions cache = cache_options(loaded.model.config, loaded.model.compute, options);
  EXPECT_LE(bytes_of_caches(loaded.model.config, cache, loaded.model.compute), options.cache_bytes);
  EXPECT_GE(cache.saved_states, 1);
  // A whole text has its rows before more than one of these is kept.
  LanguageConfig longer = loaded.model.config;
  longer.context = 1 << 13;
  const std::int64_t enough =
      least_cache_bytes(longer, loaded.model.compute, {.parallel = 16}, longer.context);
  const CacheOptions of_text =
      cache_options(longer, loaded.model.compute, {.cache_bytes = enough, .parallel = 16});
  EXPECT_EQ(longest_text(longer, of_text), longer.context);
  CacheOptions states = of_text;
  states.pages = 0;
  EXPECT_GT(enough - bytes_of_caches(longer, states, loaded.model.compute),
            bytes_of_caches(longer, states, loaded.model.compute));
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument,
                                              [&] {
                                                cache_options(
                                                    loaded.model.config, loaded.model.compute,
                                                    {.cache_bytes = 1000, .page_size = 8});
                                              }),
                              "cache_bytes too small"));
}

// Texts with grammars beside texts without: each keeps to its own.
TEST(Scheduler, GrammarsHoldForTheirTexts) {
  const LoadedModel loaded = loaded_golden("llama");
  const auto trie = std::make_shared<const grammar::TokenTrie>(loaded.tokenizer);
  const auto rule = std::make_shared<const grammar::Grammar>(
      grammar::Grammar::from_gbnf("root ::= (\"w\" [5-7] \",\"){4}"));
  const auto constraint = std::make_shared<grammar::Constraint>(rule, trie);
  Scheduler scheduler(loaded, {.pages = 60, .page_size = 8});
  std::vector<std::shared_ptr<GenerationStream>> bound;
  for (std::uint64_t i = 0; i < 3; ++i) {
    GenerationRequest request = request_of(loaded, i, 10, 30);
    request.constraint = constraint;
    request.ignores_end = false;
    bound.push_back(scheduler.submit(request));
  }
  const GenerationRequest free = request_of(loaded, 4, 10, 30);
  const auto unbound = scheduler.submit(free);
  for (const auto& stream : bound) {
    const Answer answer = read(*stream);
    EXPECT_EQ(answer.last.finish, FinishReason::stop) << answer.last.error;
    ASSERT_EQ(answer.tokens.size(), 4u);
    for (const std::int32_t token : answer.tokens) {
      EXPECT_TRUE(token >= 5 && token <= 7) << token;
    }
  }
  EXPECT_EQ(read(*unbound).tokens, tokens_alone(loaded, free));
}

TEST(Scheduler, LogprobsComeWithTokens) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 40, .page_size = 8});
  GenerationRequest request = request_of(loaded, 3, 9, 5);  // the likeliest always
  request.logprobs = 4;
  const auto stream = scheduler.submit(request);
  std::size_t count = 0;
  GenerationPiece piece;
  do {
    piece = stream->next();
    for (const GenerationToken& token : piece.tokens) {
      ++count;
      ASSERT_EQ(token.best.size(), 4u);
      EXPECT_EQ(token.best[0].token, token.token);
      EXPECT_EQ(token.best[0].logprob, token.logprob);
      EXPECT_LT(token.logprob, 0);
      EXPECT_GE(token.best[0].logprob, token.best[1].logprob);
    }
  } while (piece.finish == FinishReason::none);
  EXPECT_EQ(count, 5u);
}

TEST(Scheduler, StatsTellOfEachTextThatRuns) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 40, .page_size = 8, .parallel = 3});
  EXPECT_EQ(scheduler.stats().parallel, 3);
  EXPECT_TRUE(scheduler.stats().texts.empty());
  const auto stream = scheduler.submit(request_of(loaded, 1, 9, 150));
  bool was_seen = false;
  GenerationPiece piece;
  do {
    piece = stream->next();
    for (const TextStats& text : scheduler.stats().texts) {
      was_seen = true;
      EXPECT_EQ(text.number, 0);
      EXPECT_EQ(text.prompt_tokens, 9);
      EXPECT_EQ(text.cached_tokens, 0);
      // The last token that was drawn has not run.
      EXPECT_EQ(text.computed_tokens, 9 + text.new_tokens - 1);
      EXPECT_EQ(text.new_tokens + text.tokens_left, 150);
    }
  } while (piece.finish == FinishReason::none);
  EXPECT_TRUE(was_seen);
  EXPECT_TRUE(scheduler.stats().texts.empty());
}

TEST(Scheduler, AStreamThatGoesCancels) {
  const LoadedModel loaded = loaded_golden("llama");
  Scheduler scheduler(loaded, {.pages = 40, .page_size = 8, .parallel = 1});
  scheduler.submit(request_of(loaded, 1, 4, 150)).reset();
  const GenerationRequest request = request_of(loaded, 2, 4, 5);
  const auto stream = scheduler.submit(request);
  std::optional<GenerationPiece> piece;
  while (!piece || piece->finish == FinishReason::none) {
    piece = stream->next_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(piece->finish, FinishReason::length);
  EXPECT_EQ(scheduler.stats().pages_used, 0);
}

TEST(TextGeneration, IsATextOfTheScheduler) {
  const LoadedModel loaded = loaded_golden("llama");
  const std::string prompt = "w5,w9,w7,";
  TextGenerationOptions options{.tokens = 12};
  options.sampling.seed = 3;
  options.sampling.logit_bias = {{2, -std::numeric_limits<float>::infinity()}};
  GenerationRequest same;
  same.tokens = loaded.tokenizer.encode(prompt);
  same.most_tokens = 12;
  same.sampling = options.sampling;
  const Tokens expected = tokens_alone(loaded, same);
  std::string text;
  const auto append = [&](std::string_view piece) {
    text += piece;
    return true;
  };
  const GenerationResult made = generate_text(loaded, prompt, options, append);
  EXPECT_EQ(text, loaded.tokenizer.decode(expected));
  EXPECT_EQ(made.text.text, text);
  EXPECT_EQ(made.text.tokens, expected);
  EXPECT_EQ(made.text.prompt_tokens, static_cast<std::int64_t>(same.tokens.size()));
  EXPECT_EQ(made.text.finish, FinishReason::length);
  // The reader may end it.
  text.clear();
  generate_text(loaded, prompt, options, [&](std::string_view piece) {
    text += piece;
    return false;
  });
  EXPECT_TRUE(loaded.tokenizer.decode(expected).starts_with(text));
  options.sampling.suppressed.resize(static_cast<std::size_t>(loaded.model.vocabulary()));
  std::iota(options.sampling.suppressed.begin(), options.sampling.suppressed.end(), 0);
  check::error_of(ErrorCode::invalid_argument,
                  [&] { generate_text(loaded, prompt, options, append); });
}

}  // namespace
}  // namespace hearth::models
