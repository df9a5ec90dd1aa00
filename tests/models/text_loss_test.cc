// Whole texts at once, with gradients of low-rank pairs, for models of every family.
#include "models/language/model/text_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"

namespace hearth::models {
namespace {

using testing::GoldenModel;
using testing::GoldenPrompt;

constexpr double kMostError = 1e-11;

Array tokens_array(const std::vector<std::int64_t>& tokens, std::int64_t texts = 1) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  return Array::from_data(std::vector<std::int32_t>(tokens.begin(), tokens.end()),
                          {texts, count / texts});
}

using Pairs = std::vector<std::pair<std::string, std::shared_ptr<LowRank>>>;

// The golden model in f64 with a pair of random matrices, which require gradients, beside each of
// its projections.
LanguageModel with_pairs(const std::string& name, Generator& generator, Pairs& pairs) {
  const GoldenModel golden = testing::read_golden_model(name);
  const GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  const auto find = [&](const std::string& projection, std::int64_t out, std::int64_t in) {
    const auto random = [&](std::int64_t rows, std::int64_t columns) {
      return random_uniform({rows, columns}, -0.3, 0.3, DType::f64, Device(), &generator)
          .require_grad();
    };
    const auto pair = std::make_shared<LowRank>(LowRank{random(2, in), random(out, 2), 0.7});
    pairs.emplace_back(projection, pair);
    return std::vector<std::shared_ptr<const LowRank>>{pair};
  };
  return LanguageModel(read_config(contents.metadata, FileKind::folder),
                       Weights(contents.arrays, DType::f64, Device(), find), Device());
}

class WholeTexts : public ::testing::TestWithParam<std::string> {};

TEST_P(WholeTexts, ScoresAreThoseOfTransformers) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  const NoGrad no_grad;
  for (const GoldenPrompt& prompt : golden.prompts) {
    // Which of two scalings of positions holds depends on the context, in transformers on the text.
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    const LanguageModel model = testing::golden_language_model(golden, DType::f32, length);
    const Array scores = model.scores(hidden_of_texts(model, tokens_array(prompt.tokens)));
    const Array wanted = cast(narrow(scores, 0, prompt.first, length - prompt.first), DType::f64);
    EXPECT_LE(testing::normalized_error(wanted.to_vector<double>(), prompt), kMostError) << length;
  }
}

// Along one random direction of all matrices, by differences of the loss.
TEST_P(WholeTexts, GradientsOfPairsAreThoseOfDifferences) {
  Generator generator(71);
  Pairs pairs;
  const LanguageModel model = with_pairs(GetParam(), generator, pairs);
  ASSERT_FALSE(pairs.empty());
  const Array tokens = tokens_array({5, 9, 33, 2, 60, 71, 8, 19, 44, 3, 12, 90}, 2);
  const Array targets = tokens_array({9, 33, 2, kNoTarget, 71, 8, 19, 44, 3, 12, 90, kNoTarget}, 2);
  const Gradients gradients = backward(text_loss(model, tokens, targets));
  std::vector<std::pair<Array*, Array>> moves;
  double expected = 0;
  for (auto& [name, pair] : pairs) {
    for (Array* matrix : {&pair->a, &pair->b}) {
      const Array along = random_uniform(matrix->shape(), -1, 1, DType::f64, Device(), &generator);
      const Array gradient = gradients.get(*matrix);
      ASSERT_TRUE(gradient.defined()) << name;
      expected += sum(gradient * along).item();
      moves.emplace_back(matrix, along);
    }
  }
  const auto loss_at = [&](double step) {
    const NoGrad no_grad;
    std::vector<Array> before;
    for (const auto& [matrix, along] : moves) {
      before.push_back(*matrix);
      *matrix = matrix->detach() + along * step;
    }
    const double loss = text_loss(model, tokens, targets).item();
    for (std::size_t i = 0; i < moves.size(); ++i) *moves[i].first = before[i];
    return loss;
  };
  constexpr double kStep = 1e-6;
  const double got = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
  EXPECT_NEAR(got, expected, 1e-5 * (std::abs(expected) + 1));
}

INSTANTIATE_TEST_SUITE_P(Families, WholeTexts,
                         ::testing::ValuesIn(testing::golden_language_models(false)),
                         [](const auto& tested) { return tested.param; });

TEST(TextLoss, IsTheMeanOverRowsThatCount) {
  const GoldenModel golden = testing::read_golden_model("qwen3");
  const LanguageModel model = testing::golden_language_model(golden, DType::f32, 0);
  const NoGrad no_grad;
  const Array tokens = tokens_array({5, 9, 33, 2});
  const Array scores = log_softmax(model.scores(hidden_of_texts(model, tokens)), 1);
  const std::vector<float> all = scores.to_vector<float>();
  const auto width = static_cast<std::size_t>(model.vocabulary());
  const double expected = -(all[9] + all[2 * width + 7]) / 2.0;
  const double got = text_loss(model, tokens, tokens_array({9, kNoTarget, 7, kNoTarget})).item();
  EXPECT_NEAR(got, expected, 1e-5);
}

// Scores two rows at a time are all of them at once, and so are gradients.
TEST(TextLoss, IsTheSameByPieces) {
  Generator generator(5);
  Pairs pairs;
  const LanguageModel model = with_pairs("llama", generator, pairs);
  const Array tokens = tokens_array({5, 9, 33, 2, 60});
  const Array targets = tokens_array({9, 33, kNoTarget, 60, 71});
  const Array whole = text_loss(model, tokens, targets);
  const Array parts = text_loss(model, tokens, targets, 2 * model.vocabulary());
  EXPECT_NEAR(parts.item(), whole.item(), 1e-12);
  const Gradients of_whole = backward(whole), of_parts = backward(parts);
  for (const auto& [name, pair] : pairs) {
    const Array difference = of_whole.at(pair->b) - of_parts.at(pair->b);
    EXPECT_LE(max(abs(difference)).item(), 1e-12) << name;
  }
}

TEST(TextLoss, RefusesWhatItCannotTrain) {
  const GoldenModel golden = testing::read_golden_model("qwen3");
  const LanguageModel model = testing::golden_language_model(golden, DType::f32, 4);
  EXPECT_EQ(check::error_of(
                [&] { static_cast<void>(hidden_of_texts(model, tokens_array({1, 2, 3, 4, 5}))); }),
            "model: texts longer than the context; got 5 tokens, expected at most 4");
  EXPECT_NE(check::error_of([&] {
              static_cast<void>(hidden_of_texts(model, zeros({4}, DType::i32)));
            }).find("expected [texts, rows]"),
            std::string::npos);
  const GoldenModel encoder = testing::read_golden_model("bert");
  const LanguageModel bert = testing::golden_language_model(encoder, DType::f32, 0);
  EXPECT_NE(check::error_of([&] {
              static_cast<void>(hidden_of_texts(bert, tokens_array({1, 2})));
            }).find("texts of an encoder"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth::models
