// Caches of layers with windows hold their windows only, and texts are what they are without that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/cache.h"
#include "models/language/model/sequences.h"
#include "models/language/windows.h"
#include "models/own_bits.h"
#include "models/serving/cache_plan.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kWindowRows = 120, kWindowPage = 4, kWindowPiece = 5;

std::vector<std::string> models_with_windows() {
  std::vector<std::string> names;
  for (const std::string& name : testing::golden_language_models(false)) {
    const testing::GoldenModel golden = testing::read_golden_model(name);
    const LanguageModel model = testing::golden_language_model(golden, DType::f32, kWindowRows);
    if (kept_window(model.config) > 0) names.push_back(name);
  }
  return names;
}

std::vector<float> floats_of(const Array& scores) {
  return cast(scores, DType::f32).to_vector<float>();
}

// Texts of one model, and what their rows are where all are seen at once.
class WindowCaches : public ::testing::TestWithParam<std::string> {
 protected:
  using Tokens = std::vector<std::int32_t>;

  WindowCaches()
      : model_(testing::golden_language_model(testing::read_golden_model(GetParam()), DType::f32,
                                              kWindowRows)),
        of_text_(window_pages_of_text(model_.config, kWindowPiece, kWindowPage)) {}

  Tokens draw(std::int64_t count, std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    Tokens tokens;
    for (std::int64_t i = 0; i < count; ++i) {
      tokens.push_back(
          static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(model_.vocabulary())));
    }
    return tokens;
  }

  CacheOptions options(std::int64_t window_pages, std::int64_t states = 1) const {
    return {.pages = 40 * states,
            .window_pages = window_pages,
            .page_size = kWindowPage,
            .states = states};
  }

  // Scores of rows [first, end) of `tokens`.
  std::vector<float> expected(const Tokens& tokens, std::int64_t first, std::int64_t end) const {
    Sequences sequences(model_, {.pages = 40, .page_size = kWindowPage});
    Sequence sequence = sequences.begin();
    const SequenceRows all{&sequence, std::span(tokens).first(static_cast<std::size_t>(end)),
                           end - first};
    return floats_of(sequences.step({&all, 1}));
  }

  // Runs a sequence up to row `end` of `tokens`, `piece` rows at a time, and compares their scores
  // bit by bit.
  void run(Sequences& sequences, Sequence& sequence, const Tokens& tokens, std::int64_t end,
           std::int64_t piece = kWindowPiece) const {
    const std::int64_t first = sequence.length;
    std::vector<float> scores;
    while (sequence.length < end) {
      const std::int64_t count = std::min(piece, end - sequence.length);
      const SequenceRows rows{&sequence,
                              std::span(tokens).subspan(static_cast<std::size_t>(sequence.length),
                                                        static_cast<std::size_t>(count)),
                              count};
      const std::vector<float> own = floats_of(sequences.step({&rows, 1}));
      scores.insert(scores.end(), own.begin(), own.end());
    }
    ASSERT_GT(end, first);
    EXPECT_TRUE(scores == expected(tokens, first, end)) << first << " to " << end;
  }

  const WithNumerics bits_{testing::own_bits()};
  LanguageModel model_;
  std::int64_t of_text_;  // pages of windows that a text has at most
};

TEST_P(WindowCaches, LongTextsHoldTheirWindow) {
  const Tokens tokens = draw(kWindowRows, 1);
  for (const std::int64_t piece : {kWindowPiece, std::int64_t{1}}) {
    Sequences sequences(model_, options(of_text_));
    EXPECT_LT(of_text_, pages_of(kWindowRows, kWindowPage) / 3);
    Sequence sequence = sequences.begin();
    run(sequences, sequence, tokens, kWindowRows, piece);
    EXPECT_EQ(sequences.free().pages, 40 - pages_of(kWindowRows, kWindowPage));
    // Rows of the window, of the last piece, and a page beside them.
    const std::int64_t held = of_text_ - sequences.free().window_pages;
    EXPECT_LE(held, window_pages_of_text(model_.config, piece, kWindowPage));
    sequences.end(sequence);
    EXPECT_EQ(sequences.free().window_pages, of_text_);
    EXPECT_GT(sequences.kept().window_pages, 0);
  }
}

// Texts of different lengths side by side, cut anyhow.
TEST_P(WindowCaches, TextsSideBySideKeepTheirBits) {
  constexpr std::int64_t kTexts = 3;
  Sequences sequences(model_, options(kTexts * of_text_, kTexts));
  std::vector<Tokens> tokens;
  std::vector<Sequence> texts;
  std::vector<std::vector<float>> scores(kTexts);
  for (std::int64_t i = 0; i < kTexts; ++i) {
    tokens.push_back(draw(50 + 30 * i, 10 + static_cast<std::uint64_t>(i)));
    texts.push_back(sequences.begin());
  }
  std::mt19937 random(3);
  while (true) {
    std::vector<SequenceRows> rows;
    std::vector<std::size_t> who;
    bool is_done = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::int64_t left = std::ssize(tokens[i]) - texts[i].length;
      is_done = is_done && left == 0;
      if (left == 0 || random() % 4 == 0) continue;
      const auto count =
          std::min<std::int64_t>(left, 1 + static_cast<std::int64_t>(random() % kWindowPiece));
      rows.push_back({&texts[i],
                      std::span(tokens[i]).subspan(static_cast<std::size_t>(texts[i].length),
                                                   static_cast<std::size_t>(count)),
                      count});
      who.push_back(i);
    }
    if (is_done) break;
    if (rows.empty()) continue;
    const std::vector<float> all = floats_of(sequences.step(rows));
    auto from = all.begin();
    for (std::size_t i = 0; i < who.size(); ++i) {
      const auto end = from + rows[i].outputs * model_.vocabulary();
      scores[who[i]].insert(scores[who[i]].end(), from, end);
      from = end;
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(scores[i] == expected(tokens[i], 0, std::ssize(tokens[i]))) << i;
  }
}

TEST_P(WindowCaches, WhatIsFoundHasItsWindow) {
  const Tokens tokens = draw(80, 2);
  Tokens early = tokens, late = tokens;
  for (std::size_t i = 20; i < early.size(); ++i) early[i] = (early[i] + 1) % 7;
  for (std::size_t i = 53; i < late.size(); ++i) late[i] = (late[i] + 1) % 7;
  for (const bool is_roomy : {true, false}) {
    Sequences sequences(model_, options(is_roomy ? 40 : of_text_));
    Sequence first = sequences.begin(tokens);
    run(sequences, first, tokens, 60);
    sequences.end(first);
    // From the end of a text the window is there in any case.
    Sequence next = sequences.begin(tokens);
    EXPECT_EQ(next.length, 60);
    run(sequences, next, tokens, 70);
    sequences.end(next);
    Sequence from_late = sequences.begin(late);
    EXPECT_EQ(from_late.length, is_roomy ? 53 : 0);
    run(sequences, from_late, late, 70);
    sequences.end(from_late);
    Sequence from_early = sequences.begin(early);
    EXPECT_EQ(from_early.length, is_roomy ? 20 : 0);
    run(sequences, from_early, early, 60);
    sequences.end(from_early);
    EXPECT_EQ(sequences.free().pages, 40);
    EXPECT_EQ(sequences.free().window_pages, is_roomy ? 40 : of_text_);
  }
}

// What a text went on from is kept longer than its middle.
TEST_P(WindowCaches, TheEndOfAPromptIsKept) {
  const Tokens tokens = draw(100, 4);
  Tokens other = tokens;
  for (std::size_t i = 41; i < other.size(); ++i) other[i] = (other[i] + 1) % 7;
  for (const bool is_saved : {true, false}) {
    Sequences sequences(model_, options(2 * of_text_));
    Sequence first = sequences.begin(tokens);
    run(sequences, first, tokens, 40);
    if (is_saved) sequences.save(first);
    run(sequences, first, tokens, 100, 1);
    sequences.end(first);
    Sequence second = sequences.begin(other);
    EXPECT_EQ(second.length, is_saved ? 40 : 0);
    run(sequences, second, other, 60);
    // Known to be shared, it is kept beside the second one, too.
    run(sequences, second, other, 100, 1);
    sequences.end(second);
    EXPECT_EQ(sequences.begin(Tokens(tokens.begin(), tokens.begin() + 41)).length, 40);
  }
}

// Two texts that found the same, partly filled page each go on in one of their own.
TEST_P(WindowCaches, SharedPagesAreCopied) {
  const Tokens tokens = draw(60, 5);
  Tokens other = tokens;
  for (std::size_t i = 34; i < other.size(); ++i) other[i] = (other[i] + 1) % 7;
  Sequences sequences(model_, options(3 * of_text_, 2));
  Sequence first = sequences.begin(tokens);
  run(sequences, first, tokens, 34);
  sequences.end(first);
  Sequence a = sequences.begin(tokens), b = sequences.begin(other);
  EXPECT_EQ(a.length, 34);
  EXPECT_EQ(b.length, 34);
  run(sequences, a, tokens, 36, 1);
  run(sequences, b, other, 37, 1);
  run(sequences, a, tokens, 60);
  run(sequences, b, other, 60);
}

TEST_P(WindowCaches, GoBackAsFarAsTheWindowIsThere) {
  const Tokens tokens = draw(90, 6);
  for (const bool is_roomy : {true, false}) {
    Sequences sequences(model_, options(is_roomy ? 40 : of_text_));
    Sequence sequence = sequences.begin();
    run(sequences, sequence, tokens, 60);  // the last piece begins at 55
    EXPECT_EQ(sequences.truncate(sequence, 58), 58);
    run(sequences, sequence, tokens, 60);
    EXPECT_EQ(sequences.truncate(sequence, 58), 58);
    EXPECT_EQ(sequences.truncate(sequence, 56), 56);
    run(sequences, sequence, tokens, 80);
    const std::int64_t rows = sequences.truncate(sequence, 30);
    EXPECT_EQ(rows, is_roomy ? 30 : 0);
    EXPECT_EQ(sequence.length, rows);
    run(sequences, sequence, tokens, 90);
    sequences.end(sequence);
    EXPECT_EQ(sequences.free().window_pages, is_roomy ? 40 : of_text_);
  }
}

TEST_P(WindowCaches, EitherKindOfPagesMayEnd) {
  const Tokens tokens = draw(40, 7);
  for (const bool of_windows : {true, false}) {
    Sequences sequences(model_, {.pages = of_windows ? 40 : 4,
                                 .window_pages = of_windows ? 4 : 40,
                                 .page_size = kWindowPage});
    Sequence sequence = sequences.begin();
    run(sequences, sequence, tokens, 6);
    const SequenceRows rows{&sequence, std::span(tokens).subspan(6, 20), 1};
    const std::string error =
        check::error_of(ErrorCode::out_of_memory, [&] { sequences.step({&rows, 1}).eval(); });
    EXPECT_EQ(check::contains(error, "windows"), of_windows) << error;
    EXPECT_EQ(sequence.length, 6);
    EXPECT_EQ(sequence.pages.size(), 2u);
    EXPECT_EQ(sequences.free().pages, of_windows ? 38 : 2);
    EXPECT_EQ(sequences.free().window_pages, of_windows ? 2 : 38);
    run(sequences, sequence, tokens, 16);
    EXPECT_EQ(sequences.truncate(sequence, 15), 15);
    run(sequences, sequence, tokens, 16, 1);
  }
}

// No plan is made anew while a text grows within what its tables are rounded up to.
TEST_P(WindowCaches, AGrowingTextMakesNoPlan) {
  const Tokens tokens = draw(kWindowRows, 8);
  Sequences sequences(model_, options(of_text_));
  Sequence sequence = sequences.begin();
  run(sequences, sequence, tokens, 70, 1);
  const auto grow = [&](std::int64_t end) {
    const Statistics before = statistics();
    while (sequence.length < end) {
      const SequenceRows rows{
          &sequence, std::span(tokens).subspan(static_cast<std::size_t>(sequence.length), 1), 1};
      sequences.step({&rows, 1}).eval();
    }
    return statistics().plan_misses - before.plan_misses;
  };
  grow(74);
  EXPECT_EQ(grow(kWindowRows), 0);
}

INSTANTIATE_TEST_SUITE_P(All, WindowCaches, ::testing::ValuesIn(models_with_windows()),
                         [](const auto& each) { return each.param; });

// What a scheduler has room for, with windows and without.
TEST(WindowPlan, MemoryHoldsLongerTextsAndMoreOfThem) {
  const testing::GoldenModel golden = testing::read_golden_model("gemma3");
  LanguageConfig config = testing::golden_language_model(golden, DType::f32, kWindowRows).config;
  config.context = 4096;
  LanguageConfig full = config;
  for (LayerConfig& layer : full.layers) layer.attention.window = 0;
  const SchedulerOptions of_one{
      .pages = 129, .parallel = 1, .prefill = 64, .shares_prefixes = false};
  const auto bytes = [](const LanguageConfig& of, const CacheOptions& cache) {
    return bytes_of_caches(of, cache, DType::f32);
  };
  // Six of seven layers hold 11 + 64 rows instead of 4096.
  const CacheOptions windows = cache_options(config, DType::f32, of_one);
  EXPECT_EQ(windows.window_pages, pages_of(11 + 64) + 2);
  EXPECT_LT(4 * bytes(config, windows), bytes(full, cache_options(full, DType::f32, of_one)));
  for (const std::int64_t memory : {std::int64_t{1} << 19, std::int64_t{1} << 20,
                                    std::int64_t{1} << 21, std::int64_t{1} << 23}) {
    const SchedulerOptions shared{.cache_bytes = memory, .parallel = 4, .prefill = 64};
    const CacheOptions own = cache_options(config, DType::f32, shared);
    EXPECT_LE(bytes(config, own), memory);
    EXPECT_GE(own.pages, cache_options(full, DType::f32, shared).pages) << memory;
    EXPECT_LE(own.pages_of_windows(), own.pages);
    EXPECT_GE(own.pages_of_windows(), std::min(own.pages, *windows.window_pages)) << memory;
  }
  // What holds the windows of all and a whole text is shared out so.
  const SchedulerOptions four{.pages = 130, .parallel = 4, .prefill = 64, .shares_prefixes = false};
  const std::int64_t enough = bytes(config, cache_options(config, DType::f32, four));
  const CacheOptions own =
      cache_options(config, DType::f32, {.cache_bytes = enough, .parallel = 4, .prefill = 64});
  EXPECT_GE(own.pages * own.page_size, config.context);
  EXPECT_GE(own.pages_of_windows(), 4 * *windows.window_pages - 1);
}

TEST(WindowPlan, TheMemoryForATextHoldsItAndLessDoesNot) {
  const testing::GoldenModel golden = testing::read_golden_model("gemma3");
  LanguageConfig config = testing::golden_language_model(golden, DType::f32, kWindowRows).config;
  config.context = 1 << 17;
  for (const std::int64_t running : {1, 8, 64}) {
    SchedulerOptions options{.parallel = running};
    const std::int64_t enough = least_cache_bytes(config, DType::f32, options, config.context);
    const auto rows = [&](std::int64_t bytes) {
      options.cache_bytes = bytes;
      const CacheOptions cache = cache_options(config, DType::f32, options);
      return cache.pages * cache.page_size;
    };
    EXPECT_GE(rows(enough), config.context);
    EXPECT_LT(rows(enough - (1 << 20)), config.context);
  }
  check::error_of(ErrorCode::invalid_argument,
                  [&] { least_cache_bytes(config, DType::f32, {.page_size = 0}, 1); });
}

}  // namespace
}  // namespace hearth::models
