// What Gemma 4 has beyond other families: layers without keys and values of their own.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_model.h"
#include "models/language/cache.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/language_model.h"
#include "models/language/model/sequences.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using testing::GoldenModel;
using testing::GoldenPrompt;

GgufContents shared_model() {
  const GoldenModel golden = testing::read_golden_model("gemma4_shared");
  return gguf_of_folder(golden.config, testing::golden_weights(golden));
}

LanguageModel model_of_contents(const GgufContents& contents) {
  return LanguageModel(read_config(contents.metadata, FileKind::folder),
                       Weights(contents.arrays, DType::f32, Device()), Device());
}

TEST(Gemma4, LayersThatShareHaveNoCache) {
  const LanguageConfig config = read_config(shared_model().metadata, FileKind::folder);
  std::vector<std::int64_t> sources;
  for (const LayerConfig& layer : config.layers) sources.push_back(layer.attention.shared_layer);
  EXPECT_EQ(sources, (std::vector<std::int64_t>{-1, -1, 0, 1}));
  const CacheOptions options{.pages = 3, .page_size = 8};
  const Cache cache(config, options, DType::f32, Device());
  EXPECT_TRUE(cache.layers[1].keys.defined());
  EXPECT_FALSE(cache.layers[2].keys.defined());
  EXPECT_FALSE(cache.layers[3].values.defined());
  LanguageConfig apart = config;
  for (LayerConfig& layer : apart.layers) layer.attention.shared_layer = -1;
  EXPECT_EQ(2 * bytes_of_caches(config, options, DType::f32),
            bytes_of_caches(apart, options, DType::f32));
}

// Checkpoints hold projections that nothing reads.
TEST(Gemma4, TensorsOfSharedKeysAreIgnored) {
  GgufContents contents = shared_model();
  contents.arrays.push_back({"blk.3.attn_k.weight", zeros({7, 5})});
  contents.arrays.push_back({"blk.3.attn_v.weight", zeros({7, 5})});
  contents.arrays.push_back({"blk.3.attn_k_norm.weight", zeros({7})});
  const LanguageModel model = model_of_contents(contents);
  const GoldenPrompt prompt = testing::read_golden_model("gemma4_shared").prompts.back();
  Sequences sequences(model, {.pages = 8, .page_size = 16});
  Sequence sequence = sequences.begin();
  const std::vector<std::int32_t> tokens(prompt.tokens.begin(), prompt.tokens.end());
  const SequenceRows rows{&sequence, tokens,
                          static_cast<std::int64_t>(tokens.size()) - prompt.first};
  const Array scores = cast(sequences.step({&rows, 1}), DType::f64);
  EXPECT_LE(testing::normalized_error(scores.to_vector<double>(), prompt), 1e-11);
  // Those of a layer that reads them are not.
  contents.arrays.push_back({"blk.1.attn_v_norm.weight", zeros({16})});
  EXPECT_TRUE(
      check::contains(check::error_of(ErrorCode::unsupported, [&] { model_of_contents(contents); }),
                      "blk.1.attn_v_norm.weight"));
}

TEST(Gemma4, RefusesWhatItCannotShare) {
  GgufContents contents = shared_model();
  contents.metadata.set("gemma4.attention.shared_kv_layers", std::uint32_t{4});
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [&] { model_of_contents(contents); }),
      "gemma4.attention.shared_kv_layers"));
  contents.metadata.set("gemma4.attention.shared_kv_layers", std::uint32_t{3});
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [&] { model_of_contents(contents); }),
      "gemma4.attention.shared_kv_layers"));
  contents = shared_model();
  contents.metadata.set("gemma4.attention.causal", false);
  EXPECT_TRUE(
      check::contains(check::error_of(ErrorCode::unsupported, [&] { model_of_contents(contents); }),
                      "gemma4.attention.causal"));
}

TEST(Gemma4, RefusesFoldersThatItWouldReadWrongly) {
  const GoldenModel golden = testing::read_golden_model("gemma4_shared");
  const auto refused = [&](ErrorCode code, const char* key, const JsonValue& value) {
    JsonObject config = golden.config;
    for (auto& [name, old] : config) {
      if (name == key) old = value;
    }
    return check::error_of(code, [&] { gguf_of_folder(config, {}); });
  };
  EXPECT_TRUE(check::contains(
      refused(ErrorCode::unsupported, "use_bidirectional_attention", std::string("all")),
      "use_bidirectional_attention"));
  const JsonObject wide = {{"1", JsonObject{{"head_dim", std::int64_t{1} << 31}}}};
  EXPECT_TRUE(check::contains(refused(ErrorCode::invalid_argument, "per_layer_config", wide),
                              "out of range; got 2147483648"));
}

}  // namespace
}  // namespace hearth::models
