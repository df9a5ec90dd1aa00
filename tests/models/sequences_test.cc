// Sequences that share the caches of one model: what they take over from each other, and that it
// changes nothing.
#include "models/language/model/sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "devices/cpu/gemm/kernels.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/own_bits.h"

namespace hearth::models {
namespace {

using testing::GoldenModel;
using testing::GoldenPrompt;

std::vector<double> doubles_of(const Array& scores) {
  return cast(scores, DType::f64).to_vector<double>();
}

// Runs rows [length, end) of `tokens`, `piece` at a time; their scores.
std::vector<double> run_rows(Sequences& sequences, Sequence& sequence,
                             std::span<const std::int32_t> tokens, std::int64_t end,
                             std::int64_t piece) {
  std::vector<double> all;
  while (sequence.length < end) {
    const std::int64_t count = std::min(piece, end - sequence.length);
    const SequenceRows rows{
        &sequence,
        tokens.subspan(static_cast<std::size_t>(sequence.length), static_cast<std::size_t>(count)),
        count};
    const std::vector<double> scores = doubles_of(sequences.step({&rows, 1}));
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return all;
}

// What transformers makes of rows [first, end) of a prompt.
GoldenPrompt part_of(const GoldenPrompt& prompt, std::int64_t width, std::int64_t first,
                     std::int64_t end) {
  GoldenPrompt part = prompt;
  part.first = std::max(first, prompt.first);
  part.values.assign(prompt.values.begin() + (part.first - prompt.first) * width,
                     prompt.values.begin() + (end - prompt.first) * width);
  return part;
}

class Conversations : public ::testing::TestWithParam<std::string> {
 protected:
  Conversations()
      : golden_(testing::read_golden_model(GetParam())),
        prompt_(golden_.prompts.back()),
        tokens_(prompt_.tokens.begin(), prompt_.tokens.end()),
        length_(static_cast<std::int64_t>(tokens_.size())),
        model_(testing::golden_language_model(golden_, DType::f32, length_)) {}

  // The scores of rows [first, length) are what they are without caches.
  void expect_scores(const std::vector<double>& scores, std::int64_t first) {
    const std::int64_t width = golden_.width();
    const GoldenPrompt part = part_of(prompt_, width, first, length_);
    const std::vector<double> own(scores.begin() + (part.first - first) * width, scores.end());
    EXPECT_LE(testing::normalized_error(own, part), std::max(1e-11, 2 * golden_.nmse_of_f32));
  }

  const WithNumerics bits_{testing::own_bits()};
  GoldenModel golden_;
  GoldenPrompt prompt_;
  std::vector<std::int32_t> tokens_;
  std::int64_t length_;
  LanguageModel model_;
};

// A prompt in two pieces, an answer token by token; then the same with more behind it, of which
// only what is new is computed.
TEST_P(Conversations, ASecondTurnComputesItsNewRowsOnly) {
  ASSERT_GE(length_, 12);
  Sequences sequences(model_, {.pages = 40, .page_size = 8, .states = 2, .saved_states = 2});
  const std::int64_t of_prompt = length_ / 2, of_answer = length_ / 4;
  Sequence first = sequences.begin(std::span(tokens_).first(static_cast<std::size_t>(of_prompt)));
  EXPECT_EQ(first.length, 0);
  run_rows(sequences, first, tokens_, of_prompt, of_prompt / 2 + 1);
  run_rows(sequences, first, tokens_, of_prompt + of_answer, 1);
  sequences.end(first);
  EXPECT_EQ(sequences.free().pages, 40);
  Sequence second = sequences.begin(tokens_);
  EXPECT_EQ(second.length, of_prompt + of_answer);
  expect_scores(run_rows(sequences, second, tokens_, length_, length_), of_prompt + of_answer);
  sequences.end(second);
  EXPECT_EQ(sequences.free().pages, 40);
}

// Marks leave a slot for each sequence that is still to begin.
TEST_P(Conversations, MarksLeaveRoomForSequences) {
  Sequences sequences(model_, {.pages = 40, .page_size = 8, .states = 2, .saved_states = 1});
  Sequence first = sequences.begin(), second = sequences.begin();
  sequences.end(second);
  run_rows(sequences, first, tokens_, 3, 3);
  EXPECT_TRUE(sequences.mark(first));
  EXPECT_TRUE(sequences.mark(first));
  second = sequences.begin();
  run_rows(sequences, second, tokens_, 3, 3);
  EXPECT_EQ(sequences.mark(second), !sequences.has_states());
  sequences.end(first);
  EXPECT_TRUE(sequences.mark(second));
  sequences.end(second);
}

// The scores of a row are the same bits on the CPU however its text is cut into steps, whoever runs
// beside it, and whatever was taken over.
TEST_P(Conversations, ARowHasTheSameBitsInAnyCompany) {
  std::mt19937_64 random(5);
  for (const DType compute : {DType::f32, DType::bf16}) {
    if (compute == DType::bf16 && cpu::amx_gemm() != nullptr) continue;  // of an order of its own
    const LanguageModel model = testing::golden_language_model(golden_, compute, length_);
    const CacheOptions options{
        .pages = 80, .page_size = 4, .states = 4, .keys = compute, .values = compute};
    Sequences alone(model, options);
    Sequence whole = alone.begin();
    const std::vector<double> expected = run_rows(alone, whole, tokens_, length_, 1);
    for (int round = 0; round < 3; ++round) {
      Sequences sequences(model, options);
      Sequence texts[3] = {sequences.begin(), sequences.begin(), sequences.begin()};
      std::vector<double> got[3];
      while (true) {
        std::vector<SequenceRows> rows;
        std::vector<std::size_t> who;
        for (std::size_t i = 0; i < 3; ++i) {
          const std::int64_t left = length_ - texts[i].length;
          if (left == 0 || random() % 4 == 0) continue;
          const auto most = static_cast<std::uint64_t>(round == 0 ? length_ : 6);
          const auto count = std::min(left, 1 + static_cast<std::int64_t>(random() % most));
          rows.push_back({&texts[i],
                          std::span(tokens_).subspan(static_cast<std::size_t>(texts[i].length),
                                                     static_cast<std::size_t>(count)),
                          count});
          who.push_back(i);
        }
        if (rows.empty()) {
          if (std::all_of(texts, texts + 3, [&](const Sequence& s) { return s.length == length_; }))
            break;
          continue;
        }
        const std::vector<double> scores = doubles_of(sequences.step(rows));
        auto from = scores.begin();
        for (std::size_t i = 0; i < who.size(); ++i) {
          const auto end = from + rows[i].outputs * model.vocabulary();
          got[who[i]].insert(got[who[i]].end(), from, end);
          from = end;
        }
      }
      for (const std::vector<double>& one : got) {
        ASSERT_EQ(one.size(), expected.size());
        std::size_t differ = 0;
        for (std::size_t i = 0; i < one.size(); ++i) differ += one[i] != expected[i];
        EXPECT_EQ(differ, 0u) << name(compute) << " round " << round;
      }
    }
  }
}

// Two prompts in flight that begin the same: the second one takes over what the first has at that
// moment, both go on, and neither disturbs the other.
TEST_P(Conversations, TwoInFlightShareTheirBeginning) {
  Sequences sequences(model_, {.pages = 40, .page_size = 4, .states = 2, .saved_states = 3});
  const std::int64_t half = length_ / 2;
  Sequence first = sequences.begin(tokens_);
  run_rows(sequences, first, tokens_, half, half);
  sequences.save(first);
  std::vector<std::int32_t> other = tokens_;
  other[static_cast<std::size_t>(half) + 1] ^= 1;  // one more row is the same
  Sequence second = sequences.begin(other);
  EXPECT_EQ(second.length, sequences.has_states() ? half : half / 4 * 4);
  for (std::int64_t i = 0; i < std::max<std::int64_t>(0, 4 - second.length % 4); ++i) {
    run_rows(sequences, second, other, second.length + 1, 1);
  }
  expect_scores(run_rows(sequences, first, tokens_, length_, 3), half);
  const std::vector<double> scores =
      run_rows(sequences, second, other, static_cast<std::int64_t>(other.size()), 2);
  Sequences alone(model_, {.pages = 40, .page_size = 4, .states = 1});
  Sequence fresh = alone.begin();
  const std::vector<double> all =
      run_rows(alone, fresh, other, static_cast<std::int64_t>(other.size()), length_);
  ASSERT_LE(scores.size(), all.size());
  double error = 0, square = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double expected = all[all.size() - scores.size() + i];
    error += (scores[i] - expected) * (scores[i] - expected);
    square += expected * expected;
  }
  EXPECT_LE(error, std::max(1e-11, 4 * golden_.nmse_of_f32) * square);
}

// Going back, of models with states to where some were kept, and on from there.
TEST_P(Conversations, GoBack) {
  Sequences sequences(model_, {.pages = 40, .page_size = 4, .states = 1, .saved_states = 2});
  Sequence sequence = sequences.begin(tokens_);
  const std::int64_t saved = length_ / 2 - 1;
  run_rows(sequences, sequence, tokens_, saved, 5);
  sequences.save(sequence);
  run_rows(sequences, sequence, tokens_, length_, 3);
  const std::int64_t back = sequences.truncate(sequence, saved + 2);
  EXPECT_EQ(back, sequences.has_states() ? saved : saved + 2);
  EXPECT_EQ(sequence.length, back);
  expect_scores(run_rows(sequences, sequence, tokens_, length_, 4), back);
  EXPECT_EQ(sequences.truncate(sequence, saved - 1), sequences.has_states() ? 0 : saved - 1);
  const std::int64_t from = sequence.length;
  expect_scores(run_rows(sequences, sequence, tokens_, length_, 7), from);
  sequences.end(sequence);
  EXPECT_EQ(sequences.free().pages, 40);
}

INSTANTIATE_TEST_SUITE_P(All, Conversations,
                         ::testing::ValuesIn(testing::golden_language_models(false)),
                         [](const auto& each) { return each.param; });

TEST(Sequences, KeepWhatTheyHadWhenPagesEnd) {
  const LanguageModel model =
      testing::golden_language_model(testing::read_golden_model("llama"), DType::f32, 64);
  Sequences sequences(model, {.pages = 2, .page_size = 4, .states = 1});
  Sequence sequence = sequences.begin();
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::out_of_memory, [&] { sequences.begin(); }),
                              "sequences"));
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const SequenceRows all{&sequence, tokens, 1};
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::out_of_memory, [&] { doubles_of(sequences.step({&all, 1})); }),
      "pages"));
  EXPECT_EQ(sequence.length, 0);
  const SequenceRows some{&sequence, std::span(tokens).first(6), 1};
  const std::vector<double> first = doubles_of(sequences.step({&some, 1}));
  sequences.truncate(sequence, 3);
  EXPECT_EQ(sequences.free().pages, 1);
  const SequenceRows again{&sequence, std::span(tokens).subspan(3, 3), 1};
  const std::vector<double> second = doubles_of(sequences.step({&again, 1}));
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(first[i], second[i], 1e-5);
  const std::vector<std::int32_t> wrong = {1000000};
  const SequenceRows outside{&sequence, wrong, 1};
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument,
                                              [&] { doubles_of(sequences.step({&outside, 1})); }),
                              "vocabulary"));
}

// One slot for states: a second turn takes over that of the first.
TEST(Sequences, TheOnlyStatesAreTakenOver) {
  const GoldenModel golden = testing::read_golden_model("mamba2");
  const LanguageModel model = testing::golden_language_model(golden, DType::f32, 64);
  Sequences sequences(model, {.pages = 16, .page_size = 4, .states = 1});
  const std::vector<std::int32_t> tokens(golden.prompts.back().tokens.begin(),
                                         golden.prompts.back().tokens.end());
  Sequence first = sequences.begin(tokens);
  run_rows(sequences, first, tokens, 6, 6);
  sequences.end(first);
  Sequence second = sequences.begin(tokens);
  EXPECT_EQ(second.length, 6);
  sequences.end(second);  // without a row more
  Sequence third = sequences.begin(std::span(tokens).first(5));
  EXPECT_EQ(third.length, 0);
}

}  // namespace
}  // namespace hearth::models
