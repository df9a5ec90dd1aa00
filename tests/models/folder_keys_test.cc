// Keys of config.json that change results: read, or refused where the code takes one value for
// granted. That what is read is right, tests/golden/models tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/python_json.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/sequences.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;
using testing::GoldenModel;

// The golden configuration with these members in place of its own.
JsonObject config_with(const std::string& golden, const std::string& members) {
  JsonObject config = testing::read_golden_model(golden).config;
  const auto given = std::get<JsonObject>(parse_json("{" + members + "}").value());
  for (const auto& member : given) {
    std::erase_if(config, [&](const auto& each) { return each.first == member.first; });
    config.push_back(member);
  }
  return config;
}

LanguageConfig read_with(const std::string& golden, const std::string& members) {
  return read_config(gguf_of_folder(config_with(golden, members), {}).metadata, FileKind::folder);
}

std::string refused(ErrorCode code, const std::string& golden, const std::string& members) {
  return error_of(code, [&] { static_cast<void>(read_with(golden, members)); });
}

// Gives golden configurations an output where no tensors are read.
constexpr const char* kTied = R"("tie_word_embeddings": true, )";

TEST(FolderKeys, ActivationsAreThoseOfTheFile) {
  const auto activation = [](const char* golden, const std::string& member) {
    return read_with(golden, kTied + member).activation;
  };
  EXPECT_EQ(activation("llama", R"("hidden_act": "gelu")"), Activation::gelu);
  EXPECT_EQ(activation("llama", R"("hidden_act": "swish")"), Activation::silu);
  EXPECT_EQ(activation("olmo2", R"("hidden_act": "relu")"), Activation::relu);
  EXPECT_EQ(activation("gpt_neox", R"("hidden_act": "gelu_fast")"), Activation::gelu_tanh);
  EXPECT_EQ(activation("gpt_neox", R"("hidden_act": "quick_gelu")"), Activation::quick_gelu);
  EXPECT_EQ(activation("llama", R"("hidden_act": "relu2")"), Activation::squared_relu);
  EXPECT_EQ(activation("deepseek_v3", R"("hidden_act": "gelu")"), Activation::gelu);
  EXPECT_EQ(activation("gemma3", R"("hidden_activation": "silu")"), Activation::silu);
  EXPECT_EQ(activation("gemma3", R"("hidden_activation": null)"), Activation::gelu_tanh);
  EXPECT_EQ(activation("gpt2", R"("activation_function": "relu")"), Activation::relu);
  EXPECT_EQ(activation("nomic_bert", R"("activation_function": "swiglu")"), Activation::silu);
  EXPECT_EQ(activation("gpt_oss", R"("hidden_act": "silu")"), Activation::clamped_swiglu);
}

TEST(FolderKeys, UnknownTypesNameTheKnownOnesInOrder) {
  const std::string error = refused(ErrorCode::unsupported, "llama", R"("model_type": "none")");
  const std::string begin = "unknown model_type; got \"none\", expected one of ";
  ASSERT_TRUE(contains(error, begin)) << error;
  std::vector<std::string> names;
  std::istringstream words(error.substr(error.find(begin) + begin.size()));
  for (std::string word; words >> word;) {
    names.push_back(word.ends_with(',') ? word.substr(0, word.size() - 1) : word);
  }
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()), names.end())
      << error;
  EXPECT_NE(std::find(names.begin(), names.end(), "nomic_bert"), names.end());  // of two families
}

// Every family, so that none is added whose files' activation nobody reads.
TEST(FolderKeys, OtherActivationsAreRefusedByAllFamilies) {
  for (const bool of_encoders : {false, true}) {
    for (const std::string& golden : testing::golden_language_models(of_encoders)) {
      SCOPED_TRACE(golden);
      JsonObject config = testing::read_golden_model(golden).config;
      JsonObject* text = &config;
      for (auto& [key, value] : config) {
        if (key == "text_config") text = &std::get<JsonObject>(value);
      }
      int changed = 0;
      for (auto& [key, value] : *text) {
        if (key != "hidden_act" && key != "hidden_activation" && key != "activation_function" &&
            key != "activation") {
          continue;
        }
        value = std::string("mish");
        ++changed;
      }
      // LFM2's code has one activation, whatever files say.
      EXPECT_GE(changed, golden.starts_with("lfm2") ? 0 : 1);
      if (changed == 0) continue;
      const std::string error = error_of(ErrorCode::unsupported, [&] {
        const GoldenModel whole = testing::read_golden_model(golden);
        static_cast<void>(read_config(
            gguf_of_folder(config, testing::golden_weights(whole)).metadata, FileKind::folder));
      });
      EXPECT_TRUE(contains(error, "hidden_activation: another activation; got \"mish\"")) << error;
    }
  }
}

TEST(FolderKeys, ActivationsOfFusedBlocksHaveNoChoice) {
  const auto error = [](const char* golden) {
    return refused(ErrorCode::unsupported, golden, std::string(kTied) + R"("hidden_act": "gelu")");
  };
  for (const char* golden : {"mamba2", "qwen3_next", "lfm2", "gpt_oss"}) {
    EXPECT_TRUE(contains(error(golden), "got \"gelu\", expected one of silu, swish")) << golden;
  }
}

TEST(FolderKeys, ValuesThatAreTakenForGrantedAreTheOnlyOnes) {
  const auto error = [](const char* golden, const std::string& member) {
    return refused(ErrorCode::unsupported, golden, kTied + member);
  };
  EXPECT_TRUE(contains(error("gpt_oss", R"("swiglu_limit": 0.5)"), "expected 7"));
  EXPECT_TRUE(contains(error("gpt_oss", R"("swiglu_alpha": 1.5)"), "expected 1.702"));
  EXPECT_TRUE(contains(error("deepseek_v3", R"("rope_interleave": false)"), "expected true"));
  EXPECT_TRUE(contains(error("deepseek_v3", R"("moe_layer_freq": 2)"), "expected 1"));
  EXPECT_TRUE(contains(error("bert", R"("position_embedding_type": "relative_key")"),
                       "expected \"absolute\""));
  EXPECT_TRUE(contains(error("bert", R"("is_decoder": true)"), "expected false"));
  EXPECT_TRUE(contains(error("roberta", R"("is_decoder": true)"), "expected false"));
  EXPECT_TRUE(contains(error("modern_bert", R"("rope_scaling": {"rope_type": "yarn"})"),
                       "expected \"default\""));
  EXPECT_TRUE(contains(error("gemma3", R"("use_bidirectional_attention": true)"), "got use_bid"));
  EXPECT_TRUE(contains(error("falcon", R"("alibi": true)"), "another alibi than models of falcon"));
  EXPECT_TRUE(contains(error("phi", R"("qk_layernorm": true)"), "expected false"));
  EXPECT_TRUE(contains(error("minicpm", R"("sparse_config": {"topk": 64})"), "expected false"));
  EXPECT_TRUE(contains(error("lfm2", R"("tie_embedding": false)"), "expected true"));
  EXPECT_NO_THROW(read_with("minicpm", std::string(kTied) + R"("sparse_config": null)"));
  EXPECT_NO_THROW(read_with("gpt_oss", std::string(kTied) + R"("swiglu_limit": 7)"));
}

// What is taken for absent leaves a model that computes with defaults.
TEST(FolderKeys, ValuesOfOtherTypesAreRefused) {
  const auto error = [](const std::string& key, const std::string& value) {
    return refused(ErrorCode::invalid_argument, "llama",
                   std::string(kTied) + "\"" + key + "\": " + value);
  };
  const auto expect = [&](const std::string& key, const std::string& value, const char* expected) {
    const std::string got = error(key, value);
    EXPECT_TRUE(contains(got, "config.json: " + key + " is of the wrong type; got ") &&
                contains(got, std::string("expected ") + expected))
        << value << ": " << got;
  };
  for (const char* key : {"vocab_size", "hidden_size", "num_attention_heads", "head_dim",
                          "max_position_embeddings", "num_hidden_layers"}) {
    for (const char* value : {"\"x\"", "1e300", "1.5", "[]", "{}", "9223372036854775808", "true"}) {
      expect(key, value, "an integer");
    }
  }
  for (const char* value : {"[]", "{}", "\"x\"", "true"}) {
    expect("rms_norm_eps", value, "a number");
  }
  for (const char* value : {"[]", "{}", "9223372036854775808"}) {
    expect("hidden_act", value, "a text");
  }
  expect("norm_topk_prob", "1", "true or false");
  for (const char* key : {"attention_bias", "mlp_bias", "use_bias", "tie_word_embeddings"}) {
    for (const char* value : {"1", "\"true\"", "[]", "{}"}) expect(key, value, "true or false");
    EXPECT_NO_THROW(read_with("llama", std::string(kTied) + "\"" + key + "\": null")) << key;
  }
  for (const char* key : {"rope_parameters", "text_config"}) expect(key, "\"x\"", "an object");
  expect("rope_scaling", R"("x", "rope_parameters": null)", "an object");
  for (const char* key : {"layer_types", "mlp_only_layers"}) expect(key, "\"x\"", "an array");
  for (const char* value : {"\"12\"", "-1", "true", "[1, 2]"}) {
    const std::string got =
        refused(ErrorCode::invalid_argument, "gemma3",
                R"("rope_parameters": {"full_attention": {}, "sliding_attention": )" +
                    std::string(value) + "}");
    EXPECT_TRUE(contains(got, "sliding_attention is of the wrong type; got ")) << got;
  }
  EXPECT_NO_THROW(read_with("llama", std::string(kTied) + R"("rms_norm_eps": 1)"));
}

TEST(FolderKeys, WindowsAreThoseThatFilesAskFor) {
  const auto windows = [](const char* golden, const std::string& members) {
    std::vector<bool> has;
    const LanguageConfig config =
        read_with(golden, kTied + (R"("layer_types": null, "sliding_window": 5, )" + members));
    for (const LayerConfig& layer : config.layers) has.push_back(layer.attention.window == 5);
    return has;
  };
  using Flags = std::vector<bool>;
  const std::string four = R"("num_hidden_layers": 4, "max_window_layers": 3, )";
  EXPECT_EQ(windows("qwen2", four + R"("use_sliding_window": true)"), (Flags{0, 0, 0, 1}));
  EXPECT_EQ(windows("qwen3", four + R"("use_sliding_window": true)"), (Flags{0, 0, 0, 1}));
  EXPECT_EQ(windows("qwen2", four + R"("use_sliding_window": null)"), (Flags{0, 0, 0, 0}));
  EXPECT_EQ(windows("qwen2_moe", four + R"("use_sliding_window": true)"), (Flags{1, 0, 1, 0}));
  EXPECT_EQ(windows("qwen3_moe", four + R"("use_sliding_window": true)"), (Flags{1, 1, 1, 1}));
  EXPECT_EQ(windows("mistral_window", four + R"("x": 0)"), (Flags{1, 1, 1, 1}));
}

// transformers' types without these keys do not read them.
TEST(FolderKeys, AreReadWhereTheTypeHasThem) {
  const std::string members =
      std::string(kTied) + R"("layer_types": null, "sliding_window": 5, "sliding_window_pattern": 2,
                             "attn_logit_softcapping": 5.0, "final_logit_softcapping": 7.0)";
  for (const char* golden : {"llama", "olmo2", "granite", "glm4", "stablelm", "gpt_neox"}) {
    const GgufMetadata metadata = gguf_of_folder(config_with(golden, members), {}).metadata;
    const LanguageConfig config = read_config(metadata, FileKind::folder);
    EXPECT_EQ(config.logit_softcap, 0) << golden;
    for (const LayerConfig& layer : config.layers) {
      EXPECT_EQ(layer.attention.window, 0) << golden;
      EXPECT_EQ(layer.attention.softcap, 0) << golden;
    }
    for (const GgufEntry& entry : metadata) {
      EXPECT_FALSE(contains(entry.key, "sliding_window")) << golden;
    }
  }
  for (const auto& [golden, window, cap] :
       {std::tuple("mistral_window", 5, 0), {"gemma2", 5, 7}, {"phi3", 5, 0}}) {
    const LanguageConfig config = read_with(golden, members);
    EXPECT_EQ(config.layers.front().attention.window, window) << golden;
    EXPECT_EQ(config.logit_softcap, cap) << golden;
  }
}

// Patterns of layers that are listed may be texts.
TEST(FolderKeys, PatternsSayNothingBesideLists) {
  const auto windows = [](const std::string& members) {
    std::vector<bool> has;
    for (const LayerConfig& layer : read_with("exaone4_window", kTied + members).layers) {
      has.push_back(layer.attention.window > 0);
    }
    return has;
  };
  using Flags = std::vector<bool>;
  EXPECT_EQ(windows(R"("sliding_window_pattern": "LLLG")"), (Flags{1, 1, 1, 0, 1}));
  EXPECT_EQ(windows(R"("sliding_window_pattern": 2)"), (Flags{1, 1, 1, 0, 1}));
  EXPECT_EQ(windows(R"("sliding_window_pattern": 2, "layer_types": null)"), (Flags{1, 0, 1, 0, 1}));
  EXPECT_EQ(windows(R"("sliding_window_pattern": null, "layer_types": null)"),
            (Flags{1, 1, 1, 0, 1}));
}

// The first of each period sees all, in files as in folders, which may list the layers.
TEST(FolderKeys, WindowsOfModernBertBeginWithALayerThatSeesAll) {
  const auto windows = [](const LanguageConfig& config) {
    std::vector<std::int64_t> all;
    for (const LayerConfig& layer : config.layers) all.push_back(layer.attention.window);
    return all;
  };
  const auto of_folder = [&](const std::string& members) {
    return windows(read_with("modern_bert", R"("local_attention": 6, )" + members));
  };
  using Windows = std::vector<std::int64_t>;
  EXPECT_EQ(of_folder(R"("x": 0)"), (Windows{0, 6, 6, 0, 6}));
  EXPECT_EQ(of_folder(R"("layer_types": null)"), (Windows{0, 6, 6, 0, 6}));
  EXPECT_EQ(of_folder(R"("layer_types": null, "global_attn_every_n_layers": 2)"),
            (Windows{0, 6, 0, 6, 0}));
  EXPECT_EQ(of_folder(R"("layer_types": null, "global_attn_every_n_layers": 1)"),
            (Windows{0, 0, 0, 0, 0}));
  const GgufMetadata file = {{"general.architecture", "modern-bert"},
                             {"modern-bert.embedding_length", std::uint32_t{64}},
                             {"modern-bert.block_count", std::uint32_t{5}},
                             {"modern-bert.feed_forward_length", std::uint32_t{96}},
                             {"modern-bert.attention.head_count", std::uint32_t{4}},
                             {"modern-bert.attention.layer_norm_epsilon", 1e-5F},
                             {"modern-bert.attention.sliding_window", std::uint32_t{128}},
                             {"modern-bert.rope.freq_base", 160000.0F}};
  const auto of_file = [&](const char* key, std::uint32_t value) {
    GgufMetadata metadata = file;
    metadata.set(key, value);
    return read_config(metadata, FileKind::gguf);
  };
  const LanguageConfig usual = of_file("modern-bert.context_length", 8192);
  EXPECT_EQ(windows(usual), (Windows{0, 128, 128, 0, 128}));
  EXPECT_EQ(usual.layers[0].attention.rope.base, 160000);
  EXPECT_EQ(usual.layers[1].attention.rope.base, 10000);
  EXPECT_EQ(windows(of_file("modern-bert.attention.sliding_window_pattern", 2)),
            (Windows{0, 128, 0, 128, 0}));
}

TEST(FolderKeys, PositionsOfRobertaCountFromBehindPadding) {
  EXPECT_EQ(read_with("roberta", R"("x": 0)").context, 62);
  EXPECT_EQ(read_with("roberta", R"("pad_token_id": 0)").context, 69);
  EXPECT_EQ(read_with("bert", R"("pad_token_id": 5)").context, 64);
  JsonObject config = config_with("xlm_roberta", R"("x": 0)");
  std::erase_if(config, [](const auto& member) { return member.first == "pad_token_id"; });
  EXPECT_EQ(read_config(gguf_of_folder(config, {}).metadata, FileKind::folder).context, 68);
  const auto error = [](const std::string& members) {
    return refused(ErrorCode::invalid_argument, "roberta", members);
  };
  EXPECT_TRUE(contains(error(R"("pad_token_id": null)"), "pad_token_id is missing"));
  EXPECT_TRUE(contains(error(R"("pad_token_id": -1)"), "pad_token_id"));
  EXPECT_TRUE(contains(error(R"("max_position_embeddings": 8)"), "got 8, expected more than 8"));
  EXPECT_TRUE(contains(error(R"("max_position_embeddings": null)"), "got 0, expected more than 8"));
  const std::string other = error_of(ErrorCode::shape, [] {
    static_cast<void>(
        gguf_of_folder(config_with("roberta", R"("max_position_embeddings": 69)"),
                       testing::golden_weights(testing::read_golden_model("roberta"))));
  });
  EXPECT_TRUE(contains(other, "got [70, 48], expected 69 rows")) << other;
}

// As transformers saves an encoder within a model that guesses tokens.
TEST(FolderKeys, EncodersMayLieInModelsThatGuessTokens) {
  for (const auto& [name, prefix] : {std::pair("bert", "bert."), {"roberta", "roberta."}}) {
    const GoldenModel golden = testing::read_golden_model(name);
    NamedArrays arrays = testing::golden_weights(golden);
    const NamedArrays bare = gguf_of_folder(golden.config, arrays).arrays;
    for (NamedArray& each : arrays) each.name = prefix + each.name;
    for (const char* head : {"lm_head.dense.weight", "lm_head.layer_norm.bias", "lm_head.bias",
                             "cls.predictions.decoder.weight"}) {
      arrays.push_back({head, zeros({3, 3})});
    }
    const NamedArrays within = gguf_of_folder(golden.config, arrays).arrays;
    ASSERT_EQ(within.size(), bare.size());
    for (std::size_t i = 0; i < bare.size(); ++i) EXPECT_EQ(within[i].name, bare[i].name);
    // What ranks or sorts texts is no encoder.
    arrays.push_back({"classifier.dense.weight", zeros({3, 3})});
    EXPECT_TRUE(
        contains(error_of(ErrorCode::unsupported,
                          [&] { static_cast<void>(gguf_of_folder(golden.config, arrays)); }),
                 "classifier.dense.weight"));
  }
}

// What files hold of norms that count from 1 has more digits than halves have.
TEST(FolderKeys, WeightsOfNormsInHalvesAreNotRounded) {
  for (const char* golden : {"gemma2", "nemotron"}) {
    const GoldenModel model = testing::read_golden_model(golden);
    NamedArrays weights = testing::golden_weights(model);
    std::vector<double> expected;
    for (NamedArray& each : weights) {
      each.array = cast(each.array, DType::bf16);
      if (each.name == "model.norm.weight")
        expected = (cast(each.array, DType::f32) + 1).to_doubles();
    }
    const GgufContents contents = gguf_of_folder(model.config, weights);
    const auto norm = std::ranges::find(contents.arrays, "output_norm.weight", &NamedArray::name);
    ASSERT_NE(norm, contents.arrays.end());
    EXPECT_EQ(norm->array.to_doubles(), expected) << golden;
  }
}

// Layers that see all keys have no positions beside those with windows.
TEST(FolderKeys, PositionsAreWhereWindowsAre) {
  const auto turning = [](const char* golden, const std::string& members) {
    std::vector<bool> has;
    for (const LayerConfig& layer : read_with(golden, kTied + members).layers) {
      has.push_back(layer.attention.rope.pairs != RopePairs::none);
    }
    return has;
  };
  using Flags = std::vector<bool>;
  EXPECT_EQ(turning("cohere2", R"("a": 0)"), (Flags{1, 1, 1, 0, 1}));
  EXPECT_EQ(turning("exaone4_window", R"("a": 0)"), (Flags{1, 1, 1, 0, 1}));
  EXPECT_EQ(turning("exaone4", R"("a": 0)"), (Flags{1, 1}));
}

TEST(FolderKeys, GeluOfGemmaIsTheApproximation) {
  EXPECT_EQ(read_with("gemma", R"("hidden_act": "gelu")").activation, Activation::gelu_tanh);
  EXPECT_EQ(read_with("gemma2", R"("hidden_activation": "gelu")").activation, Activation::gelu);
}

TEST(FolderKeys, LayersAreListedWhereTheTypeHasThem) {
  const std::string members =
      std::string(kTied) +
      R"("num_hidden_layers": 2, "sliding_window": 5, "use_sliding_window": true,
                             "layer_types": ["full_attention", "sliding_attention"])";
  for (const auto& [golden, first] : {std::pair("mistral_window", 0),
                                      {"mixtral", 5},
                                      {"phi3", 5},
                                      {"starcoder2", 5},
                                      {"qwen3_moe", 5},
                                      {"qwen2", 0},
                                      {"gemma2", 0}}) {
    const LanguageConfig config = read_with(golden, members);
    EXPECT_EQ(config.layers[0].attention.window, first) << golden;
    EXPECT_EQ(config.layers[1].attention.window, 5) << golden;
  }
}

TEST(FolderKeys, HeadsTurnInPartWhereTheFamilyHasThat) {
  const std::string members =
      std::string(kTied) + R"("head_dim": 16, "hidden_size": 48, "num_attention_heads": 3,
                             "num_key_value_heads": 1, "partial_rotary_factor": 0.5,
                             "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5})";
  for (const auto& [golden, dims] : {std::pair("llama", 16),
                                     {"qwen3", 16},
                                     {"olmo2", 16},
                                     {"granite", 16},
                                     {"glm4", 8},
                                     {"stablelm", 8},
                                     {"phi3", 8},
                                     {"gpt_neox", 8}}) {
    EXPECT_EQ(read_with(golden, members).layers[0].attention.rope.dims, dims) << golden;
  }
}

// Frequencies of texts that are longer than what the model was made for follow the context.
TEST(FolderKeys, DynamicScalingsAreThoseOfTheFile) {
  const auto growth = [](const std::string& scaling) {
    const std::string members = kTied + (R"("rope_parameters": null, "rope_scaling": )" + scaling);
    return read_with("llama", members).layers[0].attention.rope.growth;
  };
  EXPECT_EQ(growth(R"({"type": "dynamic", "factor": 2})"), 2);
  EXPECT_EQ(growth("null"), 0);
  for (const char* factor : {"null", "0", "-1"}) {
    const std::string error =
        refused(ErrorCode::invalid_argument, "llama",
                kTied + (R"("rope_parameters": {"rope_type": "dynamic", "factor": )" +
                         std::string(factor) + "}"));
    EXPECT_TRUE(contains(error, "factor of positions") && contains(error, "a number above 0"))
        << error;
  }
}

TEST(FolderKeys, ScalingsOfLayersWithWindowsAreRefused) {
  const std::string error = refused(
      ErrorCode::unsupported, "gemma3",
      std::string(kTied) + R"("rope_parameters": {"full_attention": {"rope_type": "default"},
          "sliding_attention": {"rope_type": "linear", "factor": 2.0}})");
  EXPECT_TRUE(contains(error, "got \"linear\", expected default")) << error;
}

// A bias that the configuration says and the weights lack is zero, as transformers takes it.
TEST(FolderKeys, BiasesThatAreSaidMayBeMissing) {
  const NamedArrays weights = testing::golden_weights(testing::read_golden_model("llama"));
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    const GgufContents contents =
        gguf_of_folder(config_with("llama", "\"" + std::string(key) + "\": true"), weights);
    EXPECT_EQ(contents.arrays.size(), weights.size()) << key;
  }
}

TEST(FolderKeys, LayersWithoutPositionsAreThoseOfTheFile) {
  const auto turning = [](const std::string& members) {
    std::vector<bool> has;
    for (const LayerConfig& layer : read_with("smollm3", members).layers) {
      has.push_back(layer.attention.rope.pairs != RopePairs::none);
    }
    return has;
  };
  using Flags = std::vector<bool>;
  EXPECT_EQ(turning(R"("no_rope_layers": null)"), (Flags{1, 1, 1, 0, 1}));
  EXPECT_EQ(turning(R"("no_rope_layers": null, "no_rope_layer_interval": 2)"),
            (Flags{1, 0, 1, 0, 1}));
  EXPECT_EQ(turning(R"("no_rope_layers": [0, 1, 1, 0, 1])"), (Flags{0, 1, 1, 0, 1}));
  EXPECT_TRUE(contains(refused(ErrorCode::invalid_argument, "smollm3", R"("no_rope_layers": [1])"),
                       "a number for each of 5 layers"));
  EXPECT_TRUE(contains(refused(ErrorCode::invalid_argument, "smollm3",
                               R"("no_rope_layers": null, "no_rope_layer_interval": 0)"),
                       "got no_rope_layer_interval 0"));
}

TEST(FolderKeys, LimitsOfStepsMayBeWholeNumbers) {
  const ScanConfig scan =
      read_with("mamba2", std::string(kTied) + R"("time_step_limit": [1, 5])").scan;
  EXPECT_EQ(scan.least_step, 1);
  EXPECT_EQ(scan.largest_step, 5);
}

// As llama.cpp takes them: a whole number of another type is not read.
TEST(FolderKeys, WholeNumbersAreWrittenAsFloatsWhereTheKeyHoldsThem) {
  const auto written = [](const char* golden, const char* member, const std::string& key) {
    GgufContents contents = gguf_of_folder(config_with(golden, std::string(kTied) + member), {});
    lay_out_as_file(contents);
    EXPECT_EQ(contents.metadata.at(key).type(), GgufType::f32) << key;
    return contents.metadata.as_float(key);
  };
  EXPECT_EQ(written("olmo", R"("clip_qkv": 8)", "olmo.attention.clamp_kqv"), 8);
  EXPECT_EQ(written("olmoe", R"("clip_qkv": 8)", "olmoe.attention.clamp_kqv"), 8);
  EXPECT_EQ(written("granite", R"("logits_scaling": 8)", "granite.logit_scale"), 8);
  EXPECT_EQ(written("llama", R"("rope_parameters": {"rope_theta": 10000})", "llama.rope.freq_base"),
            10000);
  EXPECT_EQ(written("gemma2", R"("final_logit_softcapping": 30)", "gemma2.final_logit_softcapping"),
            30);
}

// As transformers before and from version 5 write them.
TEST(FolderKeys, InfinityIsNoLimitOfSteps) {
  for (const char* text : {"Infinity", R"({"__float__": "Infinity"})"}) {
    const auto members = std::get<JsonObject>(
        parse_python_json(R"({"time_step_limit": [0.25, )" + std::string(text) + "]}").value());
    JsonObject config = config_with("mamba2", kTied + std::string(R"("a": 0)"));
    std::erase_if(config, [](const auto& each) { return each.first == "time_step_limit"; });
    config.push_back(members.front());
    const ScanConfig scan = read_config(gguf_of_folder(config, {}).metadata, FileKind::folder).scan;
    EXPECT_EQ(scan.least_step, 0.25);
    EXPECT_EQ(scan.largest_step, ScanConfig().largest_step);
  }
}

TEST(FolderKeys, LayersWithExpertsMayBeListed) {
  const auto counts = [](const std::string& types) {
    std::vector<std::int64_t> all;
    const LanguageConfig config = read_with("glm4_moe_lite", R"("mlp_layer_types": )" + types);
    for (const LayerConfig& layer : config.layers) all.push_back(layer.experts.count);
    return all;
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(counts(R"(["sparse", "dense", "sparse"])"), (Counts{8, 0, 8}));
  EXPECT_EQ(counts(R"(["dense", "dense", "sparse"])"), (Counts{0, 0, 8}));
  EXPECT_EQ(counts(R"(["dense", "dense", "dense"])"), (Counts{0, 0, 0}));
  EXPECT_TRUE(contains(
      refused(ErrorCode::unsupported, "glm4_moe_lite", R"("mlp_layer_types": ["dense", "hash"])"),
      "expected dense or sparse"));
}

// As sentence-transformers saves models that make vectors: transformers' Qwen3Model and its like.
TEST(FolderKeys, TensorsOfModelsWithoutOutputHaveShorterNames) {
  const GoldenModel whole = testing::read_golden_model("qwen3");
  const JsonObject config = config_with("qwen3", R"("tie_word_embeddings": true)");
  NamedArrays arrays = testing::golden_weights(whole);
  std::erase_if(arrays, [](const NamedArray& each) { return each.name == "lm_head.weight"; });
  const GgufContents with = gguf_of_folder(config, arrays);
  for (NamedArray& each : arrays) {
    ASSERT_TRUE(each.name.starts_with("model.")) << each.name;
    each.name = each.name.substr(6);
  }
  const GgufContents without = gguf_of_folder(config, arrays);
  ASSERT_EQ(without.arrays.size(), with.arrays.size());
  for (std::size_t i = 0; i < with.arrays.size(); ++i) {
    EXPECT_EQ(without.arrays[i].name, with.arrays[i].name);
  }
}

TEST(FolderKeys, ScoresOfGemma3AreNotCapped) {
  const LanguageConfig config =
      read_with("gemma3", std::string(kTied) + R"("attn_logit_softcapping": 5.0)");
  EXPECT_EQ(config.layers.front().attention.softcap, 0);
}

TEST(FolderKeys, SizesOfMixersThatMakeNoSenseAreRefused) {
  const auto error = [](const char* golden, const std::string& members) {
    return refused(ErrorCode::invalid_argument, golden, kTied + members);
  };
  EXPECT_TRUE(contains(error("mamba2", R"("conv_kernel": 0)"), "ssm.conv_kernel: no size; got 0"));
  EXPECT_TRUE(contains(error("mamba2", R"("state_size": 2147483648)"),
                       "ssm.state_size: out of range; got 2147483648, expected 0 to 1048576"));
  EXPECT_TRUE(contains(error("mamba2", R"("expand": 9223372036854775807)"), "expand: out of"));
  EXPECT_TRUE(contains(error("mamba2", R"("expand": 1048576, "hidden_size": 1048576)"),
                       "ssm.inner_size: out of range; got 1099511627776"));
  EXPECT_TRUE(contains(error("qwen3_next", R"("linear_conv_kernel_dim": 0)"), "no size; got 0"));
  EXPECT_TRUE(contains(error("lfm2", R"("conv_L_cache": 0)"), "shortconv.l_cache: no size; got 0"));
  EXPECT_TRUE(contains(error("deepseek_v3", R"("kv_lora_rank": 2147483648)"),
                       "attention.kv_lora_rank: out of range"));
  EXPECT_TRUE(contains(error("deepseek_v3", R"("qk_nope_head_dim": -1)"), "qk_nope_head_dim: out"));
  // Also where no layer has the mixer.
  EXPECT_TRUE(
      contains(error("qwen3_next", R"("linear_num_key_heads": 0, "layer_types": ["full_attention",
            "full_attention", "full_attention", "full_attention"])"),
               "ssm.group_count: no size; got 0"));
}

TEST(FolderKeys, SizesAndScalingsThatMakeNoSenseAreRefused) {
  const auto error = [](const std::string& members) {
    return refused(ErrorCode::invalid_argument, "llama", kTied + members);
  };
  EXPECT_TRUE(contains(error(R"("head_dim": 2147483648)"),
                       "attention.key_length: out of range; got 2147483648"));
  EXPECT_TRUE(contains(error(R"("intermediate_size": 2147483648)"), "feed_forward_length: out"));
  EXPECT_TRUE(contains(error(R"("hidden_size": 2147483648)"), "embedding_length: out of range"));
  const auto scaling = [&](const std::string& members) {
    return error(R"("rope_parameters": {"rope_theta": 10000.0, )" + members + "}");
  };
  for (const char* factor : {"0", "0.0", "-1", "null"}) {
    for (const char* type : {"linear", "yarn", "llama3"}) {
      // Without a factor yarn's is what the context is of the original one.
      if (type == std::string("yarn") && factor == std::string("null")) continue;
      EXPECT_TRUE(
          contains(scaling(R"("rope_type": ")" + std::string(type) + R"(", "factor": )" + factor),
                   "factor of positions; got "))
          << type << " " << factor;
    }
  }
  const std::string llama3 = R"("rope_type": "llama3", "factor": 8.0)";
  EXPECT_TRUE(contains(scaling(llama3), "original_max_position_embeddings of positions; got none"));
  const std::string original = llama3 + R"(, "original_max_position_embeddings": 16)";
  EXPECT_TRUE(contains(scaling(original), "low_freq_factor of positions; got none"));
  EXPECT_TRUE(contains(scaling(original + R"(, "low_freq_factor": 1.0)"), "high_freq_factor of"));
  EXPECT_TRUE(contains(scaling(original + R"(, "low_freq_factor": 4.0, "high_freq_factor": 4.0)"),
                       "got 4, expected"));
  EXPECT_TRUE(contains(
      scaling(R"("rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": -1)"),
      "got -1"));
  EXPECT_TRUE(contains(scaling(R"("partial_rotary_factor": 1e30)"), "expected 0 to 1"));
}

// Learned positions have an end, also where the caller asks for a longer context.
TEST(FolderKeys, RowsBeyondLearnedPositionsAreRefused) {
  const GoldenModel golden = testing::read_golden_model("gpt2");
  const LanguageModel model = testing::golden_language_model(golden, DType::f32, 96);
  EXPECT_EQ(model.config.context, 64);
  Sequences sequences(model, {.pages = 16, .page_size = 16});
  Sequence sequence = sequences.begin();
  const std::vector<std::int32_t> fits(60, 5), more(5, 7);
  const SequenceRows first{&sequence, fits, 0};
  static_cast<void>(sequences.step({&first, 1}));
  const SequenceRows second{&sequence, more, 1};
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument,
                                [&] { static_cast<void>(sequences.step({&second, 1})); }),
                       "got 65 tokens, expected at most 64"));
  EXPECT_EQ(sequence.length, 60);
}

}  // namespace
}  // namespace hearth::models
