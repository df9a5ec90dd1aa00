// Every family with a cache of f16, its prompts whole and in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/own_bits.h"
#include "models/rows_of_texts.h"

namespace hearth::models {
namespace {

class CacheCuts : public ::testing::TestWithParam<std::string> {
  const WithNumerics bits_{testing::own_bits()};
};

// The same bits, and those near what transformers makes of the prompt without a cache.
TEST_P(CacheCuts, ChangeNoBit) {
  const testing::GoldenModel golden = testing::read_golden_model(GetParam());
  for (const testing::GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    const LanguageModel model = testing::golden_language_model(golden, DType::f32, length);
    const CacheOptions options{
        .pages = 20, .page_size = 4, .keys = DType::f16, .values = DType::f16};
    const auto scores_in = [&](std::int64_t piece) {
      testing::RowsOfTexts texts(model, options);
      texts.begin({prompt.tokens.begin(), prompt.tokens.end()});
      texts.run(0, piece);
      return texts.scores(0);
    };
    const std::vector<float> whole = scores_in(length);
    const std::span rows = std::span(whole).last(prompt.values.size());
    EXPECT_LE(testing::normalized_error({rows.begin(), rows.end()}, prompt), 1e-4) << length;
    for (const std::int64_t piece : {1, 3, 7}) {
      if (piece >= length) continue;
      EXPECT_EQ(testing::different(scores_in(piece), whole), 0u) << length << " by " << piece;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CacheCuts,
                         ::testing::ValuesIn(testing::golden_language_models(false)),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace hearth::models
