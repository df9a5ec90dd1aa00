// Queries that grow with their positions, and what yarn does to scores beside them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/language_model.h"
#include "models/language/model/sequences.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using testing::GoldenModel;

GgufContents folder_of_golden(const char* golden) {
  const GoldenModel model = testing::read_golden_model(golden);
  return gguf_of_folder(model.config, testing::golden_weights(model));
}

// The first layer of a model.
struct OneLayer {
  explicit OneLayer(const char* golden) {
    GgufContents all = folder_of_golden(golden);
    config = read_config(all.metadata, FileKind::folder);
    config.layers.resize(1);
    for (NamedArray& each : all.arrays) {
      if (!each.name.starts_with("blk.") || each.name.starts_with("blk.0.")) {
        arrays.push_back(std::move(each));
      }
    }
  }

  // Logits of one row of a text.
  Array row(const LanguageConfig& of, std::int64_t position) const {
    const LanguageModel model(of, Weights(arrays, DType::f32, Device()), Device());
    Sequences sequences(model, {.pages = 4, .page_size = 16});
    Sequence sequence = sequences.begin();
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i <= position; ++i) tokens.push_back(7 * i % 96);
    const SequenceRows rows{&sequence, tokens, 1};
    return cast(sequences.step({&rows, 1}), DType::f64);
  }

  LanguageConfig config;
  NamedArrays arrays;
};

double squared_error(const Array& a, const Array& b) {
  return (sum(square(a - b)) / sum(square(b))).item();
}

// Of one row it is as if scores were multiplied, for keys have none.
TEST(QueryTemperature, MultipliesScoresOfARow) {
  for (const char* golden : {"llama", "deepseek_v3"}) {
    SCOPED_TRACE(golden);
    const OneLayer layer(golden);
    LanguageConfig with = layer.config;
    with.layers[0].attention.temperature = {.scale = 0.7, .length = 5};
    for (const std::int64_t position : {0, 4, 5, 24, 40}) {
      SCOPED_TRACE(position);
      const auto periods = static_cast<double>(position / 5);
      LanguageConfig scaled = layer.config;
      scaled.layers[0].attention.scale *= 1 + 0.7 * std::log(1 + periods);
      const Array got = layer.row(with, position);
      EXPECT_LT(squared_error(got, layer.row(scaled, position)), 1e-12);
      const double effect = squared_error(got, layer.row(layer.config, position));
      if (periods == 0) {
        EXPECT_EQ(effect, 0);
      } else {
        EXPECT_GT(effect, 1e-6);
      }
    }
  }
}

// In rows of two texts that lie side by side, by kernels.
TEST(QueryTemperature, IsThatOfEachRowsPosition) {
  const GoldenModel golden = testing::read_golden_model("ministral3");
  const GgufContents contents = folder_of_golden("ministral3");
  const Device device = testing::kernel_device_under_test();
  const LanguageModel model(read_config(contents.metadata, FileKind::folder),
                            Weights(contents.arrays, DType::f32, device), device);
  Sequences sequences(model, {.pages = 8, .page_size = 16, .states = 2});
  const testing::GoldenPrompt& longer = golden.prompts[3];
  const testing::GoldenPrompt& shorter = golden.prompts[2];
  const auto tokens_of = [](const testing::GoldenPrompt& prompt) {
    return std::vector<std::int32_t>(prompt.tokens.begin(), prompt.tokens.end());
  };
  const std::vector<std::int32_t> first = tokens_of(longer), second = tokens_of(shorter);
  Sequence one = sequences.begin(), two = sequences.begin();
  const auto known = static_cast<std::size_t>(longer.first);
  const SequenceRows before{&one, std::span(first).first(known), 0};
  static_cast<void>(sequences.step({&before, 1}));
  const SequenceRows both[] = {
      {&one, std::span(first).subspan(known), static_cast<std::int64_t>(first.size() - known)},
      {&two, second, static_cast<std::int64_t>(second.size())}};
  const std::vector<double> all = cast(sequences.step(both), DType::f32).to_doubles();
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(longer.values.size());
  EXPECT_LE(testing::normalized_error({all.begin(), end}, longer), 1e-11);
  const std::vector<double> rest(end, end + static_cast<std::ptrdiff_t>(shorter.values.size()));
  EXPECT_LE(testing::normalized_error(rest, shorter), 1e-11);
}

TEST(QueryTemperature, IsWhatFilesSay) {
  GgufMetadata metadata = folder_of_golden("llama_yarn").metadata;
  const auto read = [&] {
    return read_config(metadata, FileKind::gguf).layers.back().attention.temperature;
  };
  EXPECT_EQ(read().scale, 0);
  metadata.set("llama.attention.temperature_scale", 0.25f);
  EXPECT_EQ(read().scale, 0.25);
  EXPECT_EQ(read().length, 16);
  metadata.set("llama.attention.temperature_length", std::uint32_t{9});
  EXPECT_EQ(read().length, 9);
  metadata.set("llama.attention.temperature_length", std::uint32_t{0});
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument, read),
                              "llama.attention.temperature_length: no size; got 0"));
}

TEST(QueryTemperature, PositionsBeyondAllAreOnePeriod) {
  const OneLayer layer("llama");
  LanguageConfig with = layer.config;
  with.layers[0].attention.temperature = {.scale = 0.7, .length = std::int64_t{1} << 40};
  EXPECT_EQ(squared_error(layer.row(with, 20), layer.row(layer.config, 20)), 0);
}

// As llama.cpp writes them, which takes mscale to be 1.
TEST(QueryTemperature, KeysOfMinistral3) {
  GgufContents file = folder_of_golden("ministral3");
  lay_out_as_file(file);
  const GgufMetadata& metadata = file.metadata;
  const auto number = [&](const std::string& key) {
    EXPECT_EQ(metadata.at(key).type(), GgufType::f32) << key;
    return metadata.as_float(key);
  };
  EXPECT_EQ(metadata.as_text("mistral3.rope.scaling.type"), "yarn");
  EXPECT_EQ(metadata.as_int("mistral3.rope.scaling.original_context_length"), 16);
  EXPECT_EQ(number("mistral3.rope.scaling.factor"), 4);
  EXPECT_EQ(number("mistral3.rope.scaling.yarn_log_multiplier"), 1);
  EXPECT_EQ(number("mistral3.attention.temperature_scale"), 0.5);
  for (const char* key : {"rope.scaling.attn_factor", "attention.temperature_length"}) {
    EXPECT_FALSE(metadata.contains("mistral3." + std::string(key))) << key;
  }
}

// Only DeepSeek's scores are multiplied by it.
TEST(YarnMultiplier, DividesTurnsOfOtherFamilies) {
  struct Divided {
    const char* golden;
    double one, all, scale;
  };
  for (const Divided& each : {Divided{"llama_yarn_magnitudes", 0.6, 1.2, 1 / std::sqrt(12.0)},
                              {"ministral3_mscale", 0.7, 0.9, 0.25}}) {
    SCOPED_TRACE(each.golden);
    GgufContents contents = folder_of_golden(each.golden);
    const auto expect_factor = [&](FileKind kind, double tolerance) {
      const AttentionConfig attention = read_config(contents.metadata, kind).layers[0].attention;
      EXPECT_NEAR(attention.rope.magnitude,
                  rope_magnitude(4, each.one) / rope_magnitude(4, each.all), tolerance);
      EXPECT_EQ(attention.scale, each.scale);
    };
    expect_factor(FileKind::folder, 1e-15);
    lay_out_as_file(contents);
    expect_factor(FileKind::gguf, 1e-7);
  }
  const AttentionConfig attention =
      read_config(folder_of_golden("deepseek_v2_groups").metadata, FileKind::folder)
          .layers[0]
          .attention;
  EXPECT_NEAR(attention.rope.magnitude, rope_magnitude(4, 0.7) / rope_magnitude(4, 0.9), 1e-15);
  const double magnitude = rope_magnitude(4, 0.9);
  EXPECT_NEAR(attention.scale, magnitude * magnitude / std::sqrt(20.0), 1e-15);
}

}  // namespace
}  // namespace hearth::models
