// Models of every family against what transformers makes of them (tests/golden/models).
#include "models/language/model/language_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "hearth/io.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/encoded_tokens.h"
#include "models/files/model_folder.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/sequences.h"
#include "models/language/model/text_encoder.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using testing::encode_tokens;
using testing::GoldenModel;
using testing::GoldenPrompt;

constexpr double kMaxError = 1e-11;

std::vector<std::int32_t> tokens_of(const GoldenPrompt& prompt) {
  return {prompt.tokens.begin(), prompt.tokens.end()};
}

std::vector<double> values_of(const Array& scores) {
  return cast(scores, DType::f64).to_vector<double>();
}

// Scores of a prompt, all rows at once.
std::vector<double> scores_of(const LanguageModel& model, const GoldenPrompt& prompt) {
  Sequences sequences(model, {.pages = 8, .page_size = 16});
  Sequence sequence = sequences.begin();
  const std::vector<std::int32_t> tokens = tokens_of(prompt);
  const SequenceRows rows{&sequence, tokens,
                          static_cast<std::int64_t>(tokens.size()) - prompt.first};
  return values_of(sequences.step({&rows, 1}));
}

class Encoders : public ::testing::TestWithParam<std::string> {};

// All prompts in one batch.
TEST_P(Encoders, ActivationsAreThoseOfTransformers) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  const LanguageModel model = testing::golden_language_model(golden, DType::f32, 0);
  TokenLists texts;
  for (const GoldenPrompt& prompt : golden.prompts) texts.push_back(tokens_of(prompt));
  const Array all = encode_tokens(model, texts);
  const Array vectors = embed_texts(model, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const GoldenPrompt& prompt = golden.prompts[i];
    const auto length = static_cast<std::int64_t>(texts[i].size());
    const Array own = narrow(narrow(all, 0, static_cast<std::int64_t>(i), 1), 1, prompt.first,
                             length - prompt.first);
    EXPECT_LE(testing::normalized_error(values_of(own), prompt), kMaxError) << length;
    const Array mean =
        sum(narrow(narrow(all, 0, static_cast<std::int64_t>(i), 1), 1, 0, length), {0, 1});
    const Array vector = squeeze(narrow(vectors, 0, static_cast<std::int64_t>(i), 1), {0});
    const std::vector<double> expected = values_of(vector_normalize(mean, 2));
    const std::vector<double> got = values_of(vector);
    for (std::size_t j = 0; j < got.size(); ++j) EXPECT_NEAR(got[j], expected[j], 1e-6);
  }
}

void expect_activations(const GoldenModel& golden, DType compute, double most) {
  const LanguageModel model = testing::golden_language_model(golden, compute, 0);
  for (const GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    const Array all = squeeze(encode_tokens(model, {tokens_of(prompt)}), {0});
    const Array own = narrow(all, 0, prompt.first, length - prompt.first);
    EXPECT_LE(testing::normalized_error(values_of(own), prompt), most) << length;
  }
}

// What is left is what is rounded to f32 before it.
TEST_P(Encoders, ActivationsInF64AreThoseOfTransformers) {
  expect_activations(testing::read_golden_model(GetParam()), DType::f64, 1e-13);
}

TEST(EncodersOfOldFolders, SayTheSame) {
  int models = 0;
  for (const std::string& name : testing::golden_language_models(true)) {
    GoldenModel golden = testing::read_golden_model(name);
    if (!golden.old_config) continue;
    SCOPED_TRACE(name);
    golden.config = *golden.old_config;
    expect_activations(golden, DType::f64, 1e-13);
    ++models;
  }
  EXPECT_GE(models, 1);
}

TEST_P(Encoders, FilesOfFoldersGiveTheSame) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  lay_out_as_file(contents);
  const LanguageModel model(read_config(contents.metadata, FileKind::gguf),
                            Weights(contents.arrays, DType::f32, Device()), Device());
  const TokenLists texts = {tokens_of(golden.prompts.back())};
  GoldenPrompt expected = golden.prompts.back();
  expected.values =
      values_of(encode_tokens(testing::golden_language_model(golden, DType::f32, 0), texts));
  EXPECT_LE(testing::normalized_error(values_of(encode_tokens(model, texts)), expected), 1e-12);
  EXPECT_FALSE(contents.metadata.as_bool(model.config.architecture + ".attention.causal"));
}

// What llama.cpp's files have no tensor for.
TEST(EncodersOfExperts, FilesHoldABiasOfTheSumOfExpertsWhereItIsOne) {
  const GoldenModel golden = testing::read_golden_model("nomic_bert_moe");
  NamedArrays arrays = testing::golden_weights(golden);
  const auto biases = [&] {
    GgufContents contents = gguf_of_folder(golden.config, arrays);
    lay_out_as_file(contents);
    return std::ranges::count_if(contents.arrays, [](const NamedArray& each) {
      return each.name.find("ffn_exps.bias") != std::string::npos;
    });
  };
  EXPECT_EQ(biases(), 2);
  for (NamedArray& each : arrays) {
    if (each.name == "encoder.layers.1.mlp.experts.bias") each.array = each.array * 0.0;
  }
  EXPECT_EQ(biases(), 1);
}

INSTANTIATE_TEST_SUITE_P(All, Encoders, ::testing::ValuesIn(testing::golden_language_models(true)),
                         [](const auto& each) { return each.param; });

class Families : public ::testing::TestWithParam<std::string> {};

TEST_P(Families, LogitsAreThoseOfTransformers) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  for (const GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    // In f32 some of these models lose more in transformers itself.
    const double most = std::max(kMaxError, golden.nmse_of_f32);
    const LanguageModel model = testing::golden_language_model(golden, DType::f32, length);
    EXPECT_LE(testing::normalized_error(scores_of(model, prompt), prompt), most) << length;
  }
}

// What is left in f64 is what is rounded to f32 before it: expected values, frequencies, weights
// that a folder holds in another form.
TEST_P(Families, LogitsInF64AreThoseOfTransformers) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  for (const GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    const LanguageModel model = testing::golden_language_model(golden, DType::f64, length);
    EXPECT_LE(testing::normalized_error(scores_of(model, prompt), prompt), 1e-12) << length;
  }
}

// Files that are written of folders, which hold some tensors in another order.
TEST_P(Families, FilesOfFoldersGiveTheSame) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  lay_out_as_file(contents);
  const testing::TemporaryFolder folder;
  const std::string path = folder / "model.gguf";
  save_gguf(path, contents.arrays, contents.metadata);
  const GgufContents file = map_gguf(path);
  // Of sums in another order each is as far from the exact one as f32 is.
  const double most = std::max(1e-12, 2 * golden.nmse_of_f32);
  for (const GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    const LanguageModel model(read_config(file.metadata, FileKind::gguf),
                              Weights(file.arrays, DType::f32, Device()), Device(), length);
    GoldenPrompt expected = prompt;
    expected.values = scores_of(testing::golden_language_model(golden, DType::f32, length), prompt);
    EXPECT_LE(testing::normalized_error(scores_of(model, prompt), expected), most) << length;
  }
}

// Prompts of different lengths in one batch, cut into pieces and then token by token, give what
// each gives alone.
TEST_P(Families, CachedRowsInBatchesGiveTheSame) {
  const GoldenModel golden = testing::read_golden_model(GetParam());
  std::int64_t longest = 0;
  for (const GoldenPrompt& prompt : golden.prompts) {
    longest = std::max(longest, static_cast<std::int64_t>(prompt.tokens.size()));
  }
  const LanguageModel model = testing::golden_language_model(golden, DType::f32, longest);
  Sequences sequences(model, {.pages = 40, .page_size = 8, .states = 8});
  struct Running {
    const GoldenPrompt* prompt;
    std::vector<std::int32_t> tokens;
    Sequence sequence;
    std::size_t fed = 0;
    std::vector<double> values;
  };
  std::vector<Running> all;
  for (const GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    // Positions of long texts would not be those of this prompt.
    const bool follows_length = GetParam().find("longrope") != std::string::npos ||
                                GetParam().find("dynamic") != std::string::npos;
    if (follows_length && length != longest) continue;
    all.push_back({&prompt, tokens_of(prompt), sequences.begin(), 0, {}});
  }
  std::size_t step = 0;
  while (true) {
    std::vector<SequenceRows> rows;
    std::vector<Running*> running;
    for (Running& each : all) {
      if (each.fed == each.tokens.size()) continue;
      const std::size_t count =
          std::min(each.tokens.size() - each.fed, step < 2 ? 3 + running.size() : 1);
      rows.push_back({&each.sequence, std::span(each.tokens).subspan(each.fed, count),
                      static_cast<std::int64_t>(count)});
      each.fed += count;
      running.push_back(&each);
    }
    if (rows.empty()) break;
    ++step;
    const std::vector<double> values = values_of(sequences.step(rows));
    auto at = values.begin();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto count = rows[i].outputs * golden.width();
      running[i]->values.insert(running[i]->values.end(), at, at + count);
      at += count;
    }
  }
  for (Running& each : all) {
    const auto skipped = each.prompt->first * golden.width();
    const std::vector<double> values(each.values.begin() + skipped, each.values.end());
    EXPECT_LE(testing::normalized_error(values, *each.prompt),
              std::max(kMaxError, 2 * golden.nmse_of_f32))
        << each.tokens.size();
    sequences.end(each.sequence);
  }
  EXPECT_EQ(sequences.free().pages, 40);
}

INSTANTIATE_TEST_SUITE_P(All, Families, ::testing::ValuesIn(testing::golden_language_models(false)),
                         [](const auto& each) { return each.param; });

// Configurations as files had them before per-layer ones and rope_parameters.
class FamiliesOfOldFolders : public ::testing::TestWithParam<std::string> {};

TEST_P(FamiliesOfOldFolders, SayTheSame) {
  GoldenModel golden = testing::read_golden_model(GetParam());
  golden.config = *golden.old_config;
  for (const GoldenPrompt& prompt : golden.prompts) {
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    const LanguageModel model = testing::golden_language_model(golden, DType::f64, length);
    EXPECT_LE(testing::normalized_error(scores_of(model, prompt), prompt), 1e-12) << length;
  }
}

std::vector<std::string> models_with_old_configurations() {
  std::vector<std::string> names = testing::golden_language_models(false);
  std::erase_if(
      names, [](const std::string& name) { return !testing::read_golden_model(name).old_config; });
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, FamiliesOfOldFolders,
                         ::testing::ValuesIn(models_with_old_configurations()),
                         [](const auto& each) { return each.param; });

// A folder on disk, and the GGUF file that is made of it, which holds the same rows.
TEST(LanguageModel, FilesGiveTheSame) {
  const GoldenModel golden = testing::read_golden_model("qwen3_moe");
  const testing::TemporaryFolder folder;
  testing::write_model_folder(golden, folder.path(), 3);
  const ModelFolder read = read_model_folder(folder.path().string());
  const GgufContents contents = gguf_of_folder(read.config, read.tensors);
  const std::string path = folder / "model.gguf";
  save_gguf(path, contents.arrays, contents.metadata);
  const GgufContents mapped = map_gguf(path);
  const LanguageModel model(read_config(mapped.metadata, FileKind::gguf),
                            Weights(mapped.arrays, DType::f32, Device()), Device());
  for (const GoldenPrompt& prompt : golden.prompts) {
    EXPECT_LE(testing::normalized_error(scores_of(model, prompt), prompt), kMaxError);
  }
}

// Weights in blocks and in halves, against the same weights opened.
TEST(LanguageModel, PackedAndHalfWeightsStayWhatTheyAre) {
  const GoldenModel golden = testing::read_golden_model("llama");
  const GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  const LanguageConfig config = read_config(contents.metadata, FileKind::folder);
  for (const DType dtype : {DType::q8_0, DType::bf16, DType::f16}) {
    NamedArrays stored = contents.arrays, opened = contents.arrays;
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const Array& x = contents.arrays[i].array;
      if (x.rank() != 2 || (is_packed(dtype) && x.shape(1) % block_of(dtype) != 0)) continue;
      stored[i].array = is_packed(dtype) ? quantize(x, dtype) : cast(x, dtype);
      opened[i].array =
          is_packed(dtype) ? dequantize(stored[i].array) : cast(stored[i].array, DType::f32);
    }
    const auto model_with = [&](const NamedArrays& arrays) {
      return LanguageModel(config, Weights(arrays, DType::f32, Device()), Device());
    };
    const LanguageModel packed = model_with(stored), plain = model_with(opened);
    GoldenPrompt prompt = golden.prompts.front();
    prompt.values = scores_of(plain, prompt);
    // Products with such weights round rows, to 8 bits of blocks or to halves.
    EXPECT_LE(testing::normalized_error(scores_of(packed, prompt), prompt), 1e-3) << name(dtype);
  }
}

TEST(LanguageModel, FilesOfTensorsThatDoNotFitAreRefused) {
  const auto refused = [](const char* name, const char* key, std::uint32_t value) {
    const GoldenModel golden = testing::read_golden_model(name);
    GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
    contents.metadata.set(key, value);
    return check::error_of(ErrorCode::invalid_argument, [&] { lay_out_as_file(contents); });
  };
  EXPECT_TRUE(check::contains(refused("llama", "llama.attention.key_length", 12), "heads"));
  EXPECT_TRUE(check::contains(refused("llama", "llama.attention.key_length", 1u << 31),
                              "key_length: out of range; got 2147483648"));
  EXPECT_TRUE(check::contains(refused("llama_llama3", "llama.rope.dimension_count", 1u << 31),
                              "dimension_count: out of range"));
  EXPECT_TRUE(check::contains(refused("qwen3_5", "qwen35.ssm.group_count", 0),
                              "group_count: no size; got 0"));
  EXPECT_TRUE(check::contains(refused("qwen3_5", "qwen35.ssm.value_size", 16), "heads"));
}

// Products of halves would make some experts equal that are not.
TEST(LanguageModel, ExpertsAreChosenInF32) {
  const GoldenModel golden = testing::read_golden_model("qwen3_moe");
  NamedArrays weights = testing::golden_weights(golden);
  for (NamedArray& each : weights) each.array = cast(each.array, DType::f16);
  const GgufContents contents = gguf_of_folder(golden.config, weights);
  const LanguageModel model(read_config(contents.metadata, FileKind::folder),
                            Weights(contents.arrays, DType::f16, Device()), Device());
  for (const LanguageLayer& layer : model.layers) {
    EXPECT_EQ(layer.experts.router.weight.dtype(), DType::f32);
  }
}

TEST(LanguageModel, RefusesWhatIsNotThere) {
  const GoldenModel golden = testing::read_golden_model("llama");
  GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  const auto make = [](const GgufContents& from) {
    return LanguageModel(read_config(from.metadata, FileKind::folder),
                         Weights(from.arrays, DType::f32, Device()), Device());
  };
  GgufContents without = contents;
  std::erase_if(without.arrays,
                [](const NamedArray& each) { return each.name == "blk.1.attn_k.weight"; });
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument, [&] { make(without); }),
                              "blk.1.attn_k.weight"));
  GgufContents more = contents;
  more.arrays.push_back({"blk.0.attn_extra.weight", zeros({2})});
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::unsupported, [&] { make(more); }),
                              "blk.0.attn_extra.weight"));
  GgufContents other = contents;
  other.metadata.set("general.architecture", "nonsense");
  EXPECT_TRUE(
      check::contains(check::error_of(ErrorCode::unsupported, [&] { make(other); }), "nonsense"));
  GgufContents none = contents;
  none.metadata.erase("llama.block_count");
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument, [&] { make(none); }),
                              "llama.block_count"));
  // Heads of more tokens at once are the last of the blocks.
  GgufContents extra = contents;
  extra.metadata.set("llama.nextn_predict_layers", std::uint32_t{2});
  const std::string all_extra = check::error_of(ErrorCode::invalid_argument, [&] { make(extra); });
  EXPECT_TRUE(check::contains(all_extra, "llama.nextn_predict_layers")) << all_extra;
  EXPECT_TRUE(check::contains(all_extra, "got 2, expected fewer")) << all_extra;
  extra.metadata.set("llama.nextn_predict_layers", std::uint32_t{1});
  EXPECT_EQ(make(extra).layers.size(), 1u);
  GgufContents heads = contents;
  heads.metadata.set("llama.attention.head_count_kv", std::uint32_t{3});
  EXPECT_TRUE(check::contains(check::error_of(ErrorCode::invalid_argument, [&] { make(heads); }),
                              "llama.attention.head_count_kv"));
}

}  // namespace
}  // namespace hearth::models
