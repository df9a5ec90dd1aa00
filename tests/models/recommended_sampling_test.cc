// What files say of how tokens should be drawn.
#include "models/sampling/recommended_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "error_text.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;

std::optional<double> number_of(const RecommendedSampling& said, std::string_view name) {
  for (const auto& [field, value] : said.numbers) {
    if (field->name == name) return value;
  }
  return std::nullopt;
}

TEST(RecommendedSampling, OfAFileIsPutOverOptions) {
  const RecommendedSampling said =
      recommended_sampling({{"general.sampling.temp", 0.6F},
                            {"general.sampling.top_k", std::int32_t{20}},
                            {"general.sampling.top_p", 0.5F},
                            {"general.sampling.penalty_last_n", std::int32_t{-1}},
                            {"general.sampling.penalty_repeat", 1.25F},
                            {"general.sampling.mirostat", std::int32_t{2}},
                            {"general.sampling.sequence", "top_k;temperature"}});
  SamplingOptions options;
  options.min_p = 0.25;
  options.top_k = 7;
  const SamplingOptions over = said.over(options);
  EXPECT_FLOAT_EQ(static_cast<float>(over.temperature), 0.6F);
  EXPECT_EQ(over.top_k, 20);
  EXPECT_EQ(over.top_p, 0.5);
  EXPECT_EQ(over.min_p, 0.25);
  EXPECT_EQ(over.penalty_last, -1);
  EXPECT_EQ(over.repetition_penalty, 1.25);
  EXPECT_EQ(over.mirostat, Mirostat::second);
  EXPECT_EQ(over.steps, (std::vector{SamplingStep::top_k, SamplingStep::temperature,
                                     SamplingStep::adaptive_p}));
}

// Each by llama.cpp's key, at both ends of what files may say.
TEST(RecommendedSampling, EachFieldOfFilesIsReadByItsKey) {
  std::vector<std::string> keys;
  for (const SamplingField& field : sampling_fields()) {
    if (field.file_key.empty()) continue;
    keys.emplace_back(field.file_key);
    const std::string key = "general.sampling." + keys.back();
    const bool is_whole = std::holds_alternative<std::int64_t SamplingOptions::*>(field.member);
    const auto read = [&](double value) {
      GgufMetadata metadata;
      if (is_whole) {
        metadata.set(key, static_cast<std::int64_t>(value));
      } else {
        metadata.set(key, value);
      }
      return recommended_sampling(metadata);
    };
    for (const double value : {field.file_low, field.file_high}) {
      const double expected = field.name == "top_k" ? std::max(value, 0.0) : value;
      EXPECT_EQ(number_of(read(value), field.name), expected) << key;
    }
    const std::string error = error_of(ErrorCode::corrupt_file, [&] { read(field.file_low - 1); });
    EXPECT_TRUE(contains(error, key + ": out of range")) << error;
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"temp", "top_k", "top_p", "min_p", "xtc_probability",
                                            "xtc_threshold", "penalty_repeat", "penalty_last_n",
                                            "mirostat_tau", "mirostat_eta"}));
}

TEST(RecommendedSampling, NothingSaidChangesNothing) {
  SamplingOptions options;
  options.temperature = 0.3;
  options.steps = {SamplingStep::top_p};
  const SamplingOptions over = recommended_sampling({}).over(options);
  EXPECT_EQ(over.temperature, 0.3);
  EXPECT_EQ(over.steps, options.steps);
  // An order with steps that are not known here says nothing.
  EXPECT_FALSE(recommended_sampling({{"general.sampling.sequence", "top_k;infill"}}).steps);
  EXPECT_EQ(
      number_of(recommended_sampling({{"general.sampling.top_k", std::int32_t{-1}}}), "top_k"), 0);
}

TEST(RecommendedSampling, RefusesWithTheKey) {
  const auto expect = [](const GgufMetadata& metadata, const std::string& part) {
    const std::string error =
        error_of(ErrorCode::corrupt_file, [&] { recommended_sampling(metadata); });
    EXPECT_TRUE(contains(error, part)) << error;
  };
  expect({{"general.sampling.temp", -1.0F}}, "general.sampling.temp: out of range");
  expect({{"general.sampling.temp", "hot"}}, "general.sampling.temp");
  expect({{"general.sampling.top_p", 0.0F}}, "general.sampling.top_p: out of range");
  expect({{"general.sampling.mirostat", std::int32_t{3}}}, "general.sampling.mirostat");
}

RecommendedSampling of_config(const std::string& text) {
  GgufMetadata metadata;
  add_generation_config(metadata, text, "here.json");
  return recommended_sampling(metadata);
}

TEST(RecommendedSampling, OfAFoldersGenerationConfig) {
  const RecommendedSampling said = of_config(
      R"({"do_sample": true, "temperature": 0.5, "top_k": 64, "top_p": 1, "min_p": null,
          "repetition_penalty": 1.5, "eos_token_id": [1, 2]})");
  EXPECT_EQ(number_of(said, "temperature"), 0.5);
  EXPECT_EQ(number_of(said, "top_k"), 64);
  EXPECT_EQ(number_of(said, "top_p"), 1);
  EXPECT_FALSE(number_of(said, "min_p"));
  EXPECT_EQ(number_of(said, "repetition_penalty"), 1.5);
  EXPECT_EQ(number_of(said, "penalty_last"), -1);  // of the whole text
  const RecommendedSampling greedy = of_config(R"({"do_sample": false, "temperature": 0.5})");
  EXPECT_EQ(number_of(greedy, "temperature"), 0);
  EXPECT_FALSE(number_of(greedy, "top_k"));
  EXPECT_FALSE(number_of(greedy, "penalty_last"));
  for (const char* wrong : {"[]", "{", R"({"temperature": "hot"})", R"({"do_sample": 1})",
                            R"({"top_k": 99999999999})"}) {
    const std::string error = error_of(ErrorCode::corrupt_file, [&] { of_config(wrong); });
    EXPECT_TRUE(contains(error, "here.json")) << wrong << ": " << error;
  }
}

}  // namespace
}  // namespace hearth::models
