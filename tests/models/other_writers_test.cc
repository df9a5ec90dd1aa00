// Keys and names that not every writer of a family's files has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "hearth/array.h"
#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/mixer.h"
#include "models/language/model/language_model.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;
using testing::GoldenModel;

GgufContents file_of(const std::string& golden) {
  const GoldenModel model = testing::read_golden_model(golden);
  GgufContents contents = gguf_of_folder(model.config, testing::golden_weights(model));
  lay_out_as_file(contents);
  return contents;
}

LanguageConfig read_file(const GgufContents& contents) {
  return read_config(contents.metadata, FileKind::gguf);
}

TEST(OtherWriters, MiniCpmWithoutScales) {
  GgufContents contents = file_of("minicpm");
  for (const char* key : {"embedding_scale", "residual_scale", "logit_scale"}) {
    EXPECT_TRUE(contents.metadata.erase("minicpm." + std::string(key))) << key;
  }
  const LanguageConfig config = read_file(contents);
  EXPECT_EQ(config.embedding_scale, 12);
  EXPECT_DOUBLE_EQ(config.residual_scale, 1.4 / std::sqrt(4.0));
  EXPECT_DOUBLE_EQ(config.logit_scale, 256.0 / 48);
}

TEST(OtherWriters, XieluOfAllLayersIsOneNumber) {
  GgufContents contents = file_of("apertus");
  const std::vector<double> alphas = contents.metadata.as_floats("xielu.alpha_p");
  ASSERT_EQ(alphas.size(), 2u);
  const XieluConfig second = read_file(contents).layers[1].xielu;
  EXPECT_DOUBLE_EQ(second.positive, std::log1p(std::exp(alphas[1])));
  contents.metadata.set("xielu.alpha_p", static_cast<float>(alphas[1]));
  for (const LayerConfig& layer : read_file(contents).layers) {
    EXPECT_EQ(layer.xielu.positive, second.positive);
  }
  contents.metadata.set("xielu.beta", std::vector<float>{0.5F});
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, [&] { read_file(contents); }),
                       "xielu.beta: too few values; got 1, expected one for layer 1"));
  contents.metadata.set("xielu.beta", std::numeric_limits<float>::infinity());
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument, [&] { read_file(contents); }),
                       "xielu.beta: not finite; got inf, expected a number"));
  contents.metadata.set("xielu.beta", 0.5F);
  contents.metadata.erase("xielu.alpha_p");
  EXPECT_TRUE(contains(error_of([&] { read_file(contents); }), "xielu.alpha_p"));
}

TEST(OtherWriters, XieluOfALayerMayNotBeMissing) {
  const GoldenModel model = testing::read_golden_model("apertus");
  NamedArrays arrays = testing::golden_weights(model);
  std::erase_if(arrays, [](const NamedArray& each) {
    return each.name == "model.layers.0.mlp.act_fn.alpha_n";
  });
  EXPECT_TRUE(
      contains(error_of(ErrorCode::invalid_argument, [&] { gguf_of_folder(model.config, arrays); }),
               "numbers of an activation; got [1] of \"xielu.alpha_n\" in layer 1"));
}

TEST(OtherWriters, Lfm2ListsItsLayersWithAttention) {
  JsonObject config = testing::read_golden_model("lfm2").config;
  std::erase_if(config, [](const auto& member) {
    return member.first == "layer_types" || member.first == "full_attn_idxs" ||
           member.first == "block_multiple_of";
  });
  config.emplace_back("full_attn_idxs", JsonArray{std::int64_t{1}, std::int64_t{2}});
  config.emplace_back("block_ff_dim", std::int64_t{768});
  config.emplace_back("block_multiple_of", std::int64_t{1});
  const LanguageConfig read = read_config(gguf_of_folder(config, {}).metadata, FileKind::folder);
  ASSERT_EQ(read.layers.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const bool attends = i == 1 || i == 2;
    EXPECT_EQ(read.layers[i].mixer, attends ? Mixer::attention : Mixer::convolution) << i;
    EXPECT_EQ(read.layers[i].hidden, 563);  // 1.1 of 512
  }
  EXPECT_EQ(read.layers[1].attention.kv_heads, 1);
}

// Ollama's files of LFM2 call the norm before the output as other families do.
TEST(OtherWriters, Lfm2NamesItsOutputNormAsOthersDo) {
  GgufContents contents = file_of("lfm2");
  const auto made = [&] {
    return LanguageModel(read_file(contents), Weights(contents.arrays, DType::f32, Device()),
                         Device());
  };
  const LanguageModel usual = made();
  EXPECT_FALSE(usual.embedding_norm.defined());
  const auto norm = std::ranges::find(contents.arrays, "token_embd_norm.weight", &NamedArray::name);
  ASSERT_NE(norm, contents.arrays.end());
  norm->name = "output_norm.weight";
  EXPECT_EQ(made().output_norm.weight.to_doubles(), usual.output_norm.weight.to_doubles());
}

}  // namespace
}  // namespace hearth::models
