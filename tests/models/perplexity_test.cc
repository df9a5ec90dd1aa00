// Perplexity over chunks and divergences, against sums in f64 on the host.
#include "models/language/model/perplexity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_model.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/sequences.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;

LanguageModel tiny_llama() {
  const testing::GoldenModel golden = testing::read_golden_model("llama");
  const GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  return LanguageModel(read_config(contents.metadata, FileKind::folder),
                       Weights(contents.arrays, DType::f32, Device()), Device());
}

std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary) {
  std::mt19937 engine(std::random_device{}());
  std::uniform_int_distribution<std::int32_t> draws(0, static_cast<std::int32_t>(vocabulary - 1));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::int32_t& token : tokens) token = draws(engine);
  return tokens;
}

// Log-probabilities [rows, vocabulary] in f64 of scores.
std::vector<double> log_probabilities(const std::vector<double>& scores, std::size_t vocabulary) {
  std::vector<double> out = scores;
  for (std::size_t at = 0; at < out.size(); at += vocabulary) {
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(vocabulary);
    const double most = *std::max_element(begin, end);
    double total = 0;
    for (auto each = begin; each != end; ++each) total += std::exp(*each - most);
    for (auto each = begin; each != end; ++each) *each -= most + std::log(total);
  }
  return out;
}

Array random_distributions(std::int64_t places, std::int64_t vocabulary) {
  std::mt19937 engine(std::random_device{}());
  std::normal_distribution<float> draws(0.0F, 2.0F);
  std::vector<float> values(static_cast<std::size_t>(places * vocabulary));
  for (float& value : values) value = draws(engine);
  return log_softmax(Array::from_data(values, {places, vocabulary}), 1);
}

TEST(Perplexity, ChunksAreWholeAndBeginWithTheSpecialToken) {
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const TokenChunks expected = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}};
  EXPECT_EQ(chunks_of(tokens, 5, 0, -1), expected);
  const TokenChunks first = {{77, 2, 3, 4, 5}};
  EXPECT_EQ(chunks_of(tokens, 5, 1, 77), first);
  EXPECT_EQ(scored_tokens(5), 2);
  EXPECT_EQ(scored_tokens(512), 255);
}

TEST(Perplexity, RefusesChunksThatDoNotFit) {
  const std::vector<std::int32_t> tokens = {1, 2, 3, 4, 5};
  EXPECT_TRUE(contains(error_of([&] { chunks_of(tokens, 3, 0, -1); }), "too short; got 3"));
  EXPECT_TRUE(contains(error_of([&] { chunks_of(tokens, 6, 0, -1); }), "got 5 tokens"));
}

TEST(Perplexity, ScoresTheSecondHalfOfEachChunk) {
  const LanguageModel model = tiny_llama();
  constexpr std::int64_t kContext = 21;
  const std::vector<std::int32_t> tokens = random_tokens(2 * kContext + 3, model.vocabulary());
  const TokenChunks chunks = chunks_of(tokens, kContext, 0, 1);
  std::vector<double> seen;
  std::vector<std::int32_t> next;
  Perplexity perplexity;
  score_chunks(model, chunks, DType::f32, DType::f32,
               [&](const Array& scores, std::span<const std::int32_t> at) {
                 const std::vector<double> values = scores.to_doubles();
                 seen.insert(seen.end(), values.begin(), values.end());
                 next.insert(next.end(), at.begin(), at.end());
                 perplexity.add(scores, at);
               });
  const auto vocabulary = static_cast<std::size_t>(model.vocabulary());
  const std::int64_t scored = scored_tokens(kContext);
  std::vector<double> expected;
  std::vector<std::int32_t> expected_next;
  for (const auto& chunk : chunks) {
    Sequences sequences(model, {.pages = 2, .page_size = 16});
    Sequence sequence = sequences.begin();
    const SequenceRows rows{&sequence, chunk, scored + 1};
    std::vector<double> scores =
        log_probabilities(sequences.step({&rows, 1}).to_doubles(), vocabulary);
    scores.resize(scores.size() - vocabulary);  // what follows the chunk is not known
    expected.insert(expected.end(), scores.begin(), scores.end());
    expected_next.insert(expected_next.end(), chunk.end() - scored, chunk.end());
  }
  EXPECT_EQ(next, expected_next);
  ASSERT_EQ(seen.size(), expected.size());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], expected[i], 2e-5) << i;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const double value = -expected[i * vocabulary + static_cast<std::size_t>(next[i])];
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(next.size());
  EXPECT_EQ(perplexity.tokens(), 2 * scored);
  EXPECT_NEAR(perplexity.value() / std::exp(sum / count), 1, 1e-5);
  const double deviation = std::sqrt((squares / count - sum * sum / count / count) / (count - 1));
  EXPECT_NEAR(perplexity.error() / (std::exp(sum / count) * deviation), 1, 1e-3);
}

TEST(Perplexity, OfNothingIsNoNumber) {
  EXPECT_TRUE(std::isnan(Perplexity().value()));
  EXPECT_TRUE(std::isnan(Perplexity().error()));
  EXPECT_TRUE(std::isnan(Divergence().mean()));
  EXPECT_TRUE(std::isnan(Divergence().largest()));
  EXPECT_TRUE(std::isnan(Divergence().same_best()));
}

TEST(Perplexity, DivergenceIsTheSumOverAllTokens) {
  constexpr std::int64_t kPlaces = 9, kVocabulary = 301;
  const Array base = random_distributions(kPlaces, kVocabulary);
  const Array other = random_distributions(kPlaces, kVocabulary);
  Divergence divergence;
  divergence.add(base, other);
  const std::vector<double> p = base.to_doubles(), q = other.to_doubles();
  std::vector<double> expected;
  for (std::size_t at = 0; at < p.size(); at += kVocabulary) {
    double sum = 0;
    for (std::size_t i = at; i < at + kVocabulary; ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
    expected.push_back(sum);
  }
  double mean = 0;
  for (const double value : expected) mean += value / kPlaces;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(divergence.places(), kPlaces);
  EXPECT_NEAR(divergence.mean(), mean, 1e-5);
  EXPECT_NEAR(divergence.largest(), expected.back(), 1e-5);
  EXPECT_NEAR(divergence.quantile(0.5), expected[kPlaces / 2], 1e-5);
}

TEST(Perplexity, AModelDoesNotDivergeFromItself) {
  Divergence divergence;
  const Array base = random_distributions(5, 40);
  divergence.add(base, base);
  EXPECT_EQ(divergence.largest(), 0);
  EXPECT_EQ(divergence.same_best(), 1);
  // The impossible adds nothing.
  const std::vector<float> sure = {0, -INFINITY}, unsure = {-0.693147F, -0.693147F};
  Divergence of_sure;
  of_sure.add(Array::from_data(sure, {1, 2}), Array::from_data(unsure, {1, 2}));
  EXPECT_NEAR(of_sure.mean(), std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace hearth::models
