// Keys that a config.json leaves out: each type of model has its own values for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_model.h"
#include "models/language/family.h"
#include "models/language/folder/config_defaults.h"
#include "models/language/folder/folder_model.h"
#include "models/language/read_config.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;

JsonObject object_of(std::string_view text) {
  return std::get<JsonObject>(parse_json(std::string(text)).value());
}

JsonObject without(JsonObject config, const std::vector<std::string>& keys) {
  std::erase_if(config, [&](const auto& member) {
    return std::find(keys.begin(), keys.end(), member.first) != keys.end();
  });
  return config;
}

// Without tensors there is no output, which is then tied.
LanguageConfig read_tied(const JsonObject& given) {
  JsonObject config = without(given, {"tie_word_embeddings"});
  config.emplace_back("tie_word_embeddings", true);
  return read_config(gguf_of_folder(config, {}).metadata, FileKind::folder);
}

LanguageConfig read_without(const std::string& golden, const std::vector<std::string>& keys) {
  const JsonObject config = testing::read_golden_model(golden).config;
  for (const std::string& key : keys) {
    EXPECT_NE(find_key(config, key), nullptr) << golden << " has no " << key;
  }
  return read_tied(without(config, keys));
}

TEST(FolderDefaults, WhatIsLeftOutIsWhatTheTypeHas) {
  int types = 0;
  for (const Family& family : families()) {
    for (const FolderType& type : family.model_types) {
      SCOPED_TRACE(type.name);
      JsonObject defaults = object_of(type.defaults);
      if (!type.others.empty()) {
        for (const auto& other : object_of(type.others)) {
          std::erase_if(defaults, [&](const auto& each) { return each.first == other.first; });
          if (other.second != JsonValue(nullptr)) defaults.push_back(other);
        }
      }
      EXPECT_GE(defaults.size(), 4u);
      const JsonObject none = {{"model_type", std::string(type.name)}};
      const JsonObject filled = with_defaults(none, family, type.name);
      EXPECT_EQ(filled.size(), defaults.size() + 1);
      for (const auto& [key, value] : defaults) {
        ASSERT_NE(find_key(filled, key), nullptr) << key;
        EXPECT_EQ(*find_key(filled, key), value) << key;
        // What a file says stands, also that there is none.
        for (const JsonValue& said : {JsonValue(std::int64_t{77}), JsonValue(nullptr)}) {
          const JsonObject own = {{"model_type", std::string(type.name)}, {key, said}};
          const JsonObject both = with_defaults(own, family, type.name);
          EXPECT_EQ(*find_key(both, key), said) << key;
          EXPECT_EQ(std::count_if(both.begin(), both.end(),
                                  [&](const auto& member) { return member.first == key; }),
                    1)
              << key;
        }
      }
      ++types;
    }
  }
  EXPECT_GE(types, 31);
}

TEST(FolderDefaults, ATypeMayHaveOthersThanItsFamily) {
  const auto filled = [](const std::string& type) {
    return with_defaults({{"model_type", type}}, *find_family_of_folder(type), type);
  };
  const JsonObject usual = filled("gemma4_text"), unified = filled("gemma4_unified_text");
  EXPECT_EQ(*find_key(usual, "sliding_window"), JsonValue(std::int64_t{512}));
  EXPECT_EQ(*find_key(unified, "sliding_window"), JsonValue(std::int64_t{1024}));
  EXPECT_EQ(*find_key(unified, "max_position_embeddings"), JsonValue(std::int64_t{262144}));
  EXPECT_NE(find_key(usual, "hidden_size_per_layer_input"), nullptr);
  EXPECT_EQ(find_key(unified, "hidden_size_per_layer_input"), nullptr);
  EXPECT_EQ(*find_key(unified, "head_dim"), *find_key(usual, "head_dim"));
}

// Of Nomic's encoders alike in name.
TEST(FolderDefaults, AKeyMayTellFamiliesOfATypeApart) {
  const auto architecture = [](const std::string& members) {
    return find_family_of_folder("nomic_bert", object_of("{" + members + "}"))->architecture;
  };
  EXPECT_EQ(architecture(""), "nomic-bert");
  EXPECT_EQ(architecture(R"("moe_every_n_layers": 0)"), "nomic-bert");
  EXPECT_EQ(architecture(R"("moe_every_n_layers": null)"), "nomic-bert");
  EXPECT_EQ(architecture(R"("moe_every_n_layers": 2)"), "nomic-bert-moe");
}

TEST(FolderDefaults, OtherNamesOfAKeySayIt) {
  const auto filled = [](const std::string& type, const std::string& members) {
    return with_defaults(object_of("{" + members + "}"), *find_family_of_folder(type), type);
  };
  const JsonObject neox = filled("gpt_neox", R"("rotary_pct": 1.0, "rotary_emb_base": 5)");
  EXPECT_EQ(find_key(neox, "partial_rotary_factor"), nullptr);
  EXPECT_EQ(find_key(neox, "rope_theta"), nullptr);
  const JsonObject nomic = filled("nomic_bert", R"("n_embd": 64, "layer_norm_epsilon": 1e-5)");
  EXPECT_EQ(find_key(nomic, "hidden_size"), nullptr);
  EXPECT_EQ(find_key(nomic, "layer_norm_eps"), nullptr);
  EXPECT_NE(find_key(nomic, "num_hidden_layers"), nullptr);
  EXPECT_EQ(
      find_key(filled("gpt_oss", R"("rope_scaling": {"rope_type": "default"})"), "rope_parameters"),
      nullptr);
  EXPECT_EQ(find_key(filled("qwen3_moe", R"("num_local_experts": 4)"), "num_experts"), nullptr);
}

struct LeftOut {
  const char* golden;
  std::vector<std::string> keys;
  double (*number)(const LanguageConfig& config);
  double expected;
};

double base_of(const LanguageConfig& config) { return config.layers.back().attention.rope.base; }
double scale_of(const LanguageConfig& config) { return config.layers[0].attention.scale; }
double epsilon_of(const LanguageConfig& config) { return config.norm_epsilon; }
double window_at_first(const LanguageConfig& config) {
  return static_cast<double>(config.layers[0].attention.window);
}
double turning_part(const LanguageConfig& config) {
  const AttentionConfig& attention = config.layers[0].attention;
  return static_cast<double>(attention.rope.dims) / static_cast<double>(attention.key_dim);
}
double hidden_of(const LanguageConfig& config) {
  return static_cast<double>(config.layers.back().hidden);
}
double heads_of_keys(const LanguageConfig& config) {
  return static_cast<double>(config.layers.back().attention.kv_heads);
}
double normalises(const LanguageConfig& config) {
  return config.layers.back().experts.is_normalised ? 1 : 0;
}

TEST(FolderDefaults, AreThoseOfTransformers) {
  const LeftOut all[] = {
      {"llama", {"rms_norm_eps"}, epsilon_of, 1e-6},
      {"llama", {"rope_parameters"}, base_of, 10000},
      {"mixtral", {"rms_norm_eps"}, epsilon_of, 1e-5},
      {"mixtral", {"rope_parameters"}, base_of, 1e6},
      {"mistral_window", {"sliding_window"}, window_at_first, 4096},
      {"ministral", {"sliding_window"}, window_at_first, 4096},
      {"ministral3", {"sliding_window"}, window_at_first, 0},
      {"ministral3", {"rope_parameters"}, base_of, 1e6},
      {"ministral3",
       {"rope_parameters"},
       [](const LanguageConfig& config) { return config.layers[0].attention.rope.magnitude; },
       1},
      {"ministral3",
       {"rope_parameters"},
       [](const LanguageConfig& config) { return config.layers[0].attention.temperature.scale; },
       0.1},
      {"gemma2", {"query_pre_attn_scalar"}, scale_of, 1.0 / 16},
      {"gemma2",
       {"attn_logit_softcapping"},
       [](const LanguageConfig& config) { return config.layers[0].attention.softcap; },
       50},
      {"gemma2",
       {"final_logit_softcapping"},
       [](const LanguageConfig& config) { return config.logit_softcap; },
       30},
      {"gemma3", {"query_pre_attn_scalar"}, scale_of, 1.0 / 16},
      {"gemma3", {"rms_norm_eps"}, epsilon_of, 1e-6},
      {"gemma3",
       {"rope_parameters", "layer_types"},
       [](const LanguageConfig& config) { return config.layers[5].attention.rope.base; },
       1e6},
      {"gemma3",
       {"rope_parameters", "layer_types"},
       [](const LanguageConfig& config) { return config.layers[0].attention.rope.base; },
       1e4},
      {"gpt_neox",
       {"use_parallel_residual"},
       [](const LanguageConfig& config) { return config.is_parallel ? 1.0 : 0.0; },
       1},
      {"gpt_neox", {"rope_parameters"}, turning_part, 0.25},
      {"stablelm", {"rope_parameters"}, turning_part, 0.25},
      {"glm4", {"rope_parameters"}, turning_part, 0.5},
      {"glm4", {"rms_norm_eps"}, epsilon_of, 1.5625e-7},
      {"deepseek_v3", {"norm_topk_prob"}, normalises, 1},
      {"deepseek_v3",
       {"routed_scaling_factor"},
       [](const LanguageConfig& config) { return config.layers.back().experts.scale; },
       2.5},
      {"glm4_moe_lite", {"norm_topk_prob"}, normalises, 1},
      {"glm4_moe_lite",
       {"routed_scaling_factor"},
       [](const LanguageConfig& config) { return config.layers.back().experts.scale; },
       1.8},
      {"glm4_moe_lite",
       {"mlp_layer_types", "first_k_dense_replace"},
       [](const LanguageConfig& config) {
         return static_cast<double>(config.layers[0].hidden + config.layers[1].experts.count);
       },
       80 + 8},
      {"qwen2_moe", {"norm_topk_prob"}, normalises, 0},
      {"qwen3_moe", {"norm_topk_prob"}, normalises, 0},
      {"qwen3_next", {"norm_topk_prob"}, normalises, 1},
      {"qwen3_next", {"rope_parameters"}, turning_part, 0.25},
      {"granite", {"attention_multiplier"}, scale_of, 1},
      {"granite",
       {"logits_scaling"},
       [](const LanguageConfig& config) { return config.logit_scale; },
       1},
      {"gpt_oss", {"rope_parameters"}, base_of, 150000},
      {"gpt_oss",
       {"rope_parameters"},
       [](const LanguageConfig& config) { return config.layers[0].attention.rope.scaling.factor; },
       32},
      {"smollm3", {"rope_parameters"}, base_of, 2e6},
      {"cohere", {"rope_parameters"}, base_of, 5e5},
      {"cohere",
       {"logit_scale"},
       [](const LanguageConfig& config) { return config.logit_scale; },
       0.0625},
      {"ernie4_5", {"rope_parameters"}, base_of, 5e5},
      {"helium", {"rope_parameters"}, base_of, 1e5},
      {"glm4_moe", {"rope_parameters"}, turning_part, 0.5},
      {"nemotron", {"rope_parameters"}, turning_part, 0.5},
      {"nemotron", {"norm_eps"}, epsilon_of, 1e-5},
      {"phi", {"rope_parameters"}, turning_part, 0.5},
      {"apertus", {"rope_parameters"}, base_of, 12e6},
      {"lfm2", {"rope_parameters"}, base_of, 1e6},
      {"lfm2", {"block_multiple_of"}, hidden_of, 256},
      {"falcon", {"ffn_hidden_size"}, hidden_of, 4 * 48},
      {"falcon_groups", {"num_kv_heads"}, heads_of_keys, 4},
      {"falcon", {"multi_query"}, heads_of_keys, 1},
      {"minicpm",
       {"scale_emb"},
       [](const LanguageConfig& config) { return config.embedding_scale; },
       1},
      {"minicpm",
       {"dim_model_base"},
       [](const LanguageConfig& config) { return config.logit_scale; },
       1.0 / 48},
      {"olmoe", {"norm_topk_prob"}, normalises, 0},
      {"olmo3", {"rope_parameters"}, base_of, 5e5},
      {"nomic_bert", {"rope_parameters"}, base_of, 1000},
      {"bert", {"layer_norm_eps"}, epsilon_of, 1e-12},
      {"xlm_roberta", {"layer_norm_eps"}, epsilon_of, 1e-12},
      {"modern_bert", {"norm_eps"}, epsilon_of, 1e-5},
      {"modern_bert", {"rope_parameters"}, base_of, 1e4},
      {"modern_bert_layers",
       {"rope_parameters"},
       [](const LanguageConfig& config) { return config.layers[1].attention.rope.base; },
       160000},
      {"modern_bert_layers", {"local_attention"}, window_at_first, 128},
  };
  for (const LeftOut& each : all) {
    const LanguageConfig config = read_without(each.golden, each.keys);
    EXPECT_DOUBLE_EQ(each.number(config), each.expected) << each.golden << " " << each.keys[0];
  }
}

// Mistral 3 of a text model whose type the file does not say: Mistral's.
TEST(FolderDefaults, OfATextModelWithoutAType) {
  const JsonObject config = object_of(R"({"model_type": "mistral3", "text_config": {
      "hidden_size": 5120, "num_hidden_layers": 2, "rope_theta": 1e9}})");
  const LanguageConfig read = read_config(gguf_of_folder(config, {}).metadata, FileKind::folder);
  EXPECT_EQ(read.context, 131072);
  EXPECT_EQ(read.norm_epsilon, 1e-6);
  ASSERT_EQ(read.layers.size(), 2u);
  const AttentionConfig& attention = read.layers[0].attention;
  EXPECT_EQ(attention.key_dim, 160);
  EXPECT_EQ(attention.window, 4096);
  EXPECT_EQ(attention.rope.base, 1e9);
  EXPECT_EQ(attention.rope.scaling.kind, RopeScalingKind::none);
  EXPECT_EQ(attention.temperature.scale, 0);
}

// What 4B of Gemma 3 has, whose file leaves out the rest.
TEST(FolderDefaults, AWholeModelOfFewKeys) {
  const JsonObject config = object_of(R"({"model_type": "gemma3", "text_config": {
      "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
      "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
      "sliding_window": 1024}})");
  const LanguageConfig read = read_config(gguf_of_folder(config, {}).metadata, FileKind::folder);
  EXPECT_EQ(read.dim, 2560);
  EXPECT_EQ(read.context, 131072);
  EXPECT_EQ(read.norm_epsilon, 1e-6);
  ASSERT_EQ(read.layers.size(), 34u);
  const AttentionConfig& first = read.layers[0].attention;
  EXPECT_EQ(first.heads, 8);
  EXPECT_EQ(first.kv_heads, 4);
  EXPECT_EQ(first.key_dim, 256);
  EXPECT_EQ(first.window, 1024);
  EXPECT_EQ(first.rope.base, 10000);
  EXPECT_EQ(first.rope.scaling.kind, RopeScalingKind::none);
  const AttentionConfig& sixth = read.layers[5].attention;
  EXPECT_EQ(sixth.window, 0);
  EXPECT_EQ(sixth.rope.base, 1e6);
  EXPECT_EQ(sixth.rope.scaling.kind, RopeScalingKind::linear);
  EXPECT_EQ(sixth.rope.scaling.factor, 8);
  EXPECT_EQ(sixth.scale, 1.0 / 16);
}

// Where a file does not say which layers have windows, the last of Gemma 4 has none.
TEST(FolderDefaults, LayersOfGemma4) {
  const LanguageConfig config = read_without("gemma4", {"layer_types"});
  ASSERT_EQ(config.layers.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(config.layers[i].attention.window > 0, i < 3) << i;
    EXPECT_EQ(config.layers[i].attention.key_dim, i < 3 ? 8 : 16) << i;
  }
}

// Their heads are as wide as the others where the file says null, and not where it says nothing.
TEST(FolderDefaults, HeadsOfFullLayersOfGemma4) {
  JsonObject config = without(testing::read_golden_model("gemma4").config, {"per_layer_config"});
  EXPECT_EQ(read_tied(config).layers[1].attention.key_dim, 512);
  config.emplace_back("global_head_dim", nullptr);
  EXPECT_EQ(read_tied(config).layers[1].attention.key_dim, 8);
  EXPECT_EQ(read_tied(config).layers[1].attention.value_dim, 8);
}

TEST(FolderDefaults, WhatHasNoneIsAnErrorWithTheKey) {
  const auto error = [](const char* golden, const char* key) {
    return error_of(ErrorCode::invalid_argument,
                    [&] { static_cast<void>(read_without(golden, {key})); });
  };
  EXPECT_TRUE(contains(error("deepseek_v2", "num_experts_per_tok"), "expert_used_count"));
  const auto null = [](const char* golden, const char* key) {
    JsonObject config = without(testing::read_golden_model(golden).config, {key});
    config.emplace_back(key, nullptr);
    return error_of(ErrorCode::invalid_argument, [&] { static_cast<void>(read_tied(config)); });
  };
  EXPECT_TRUE(contains(null("llama", "num_attention_heads"), "attention.head_count"));
  EXPECT_TRUE(contains(null("llama", "hidden_size"), "embedding_length"));
}

// The layer behind the last drafts tokens, and has tensors that no other one has.
TEST(FolderDefaults, LayersThatDraftAreLeftOut) {
  const testing::GoldenModel golden = testing::read_golden_model("deepseek_v3");
  NamedArrays arrays = testing::golden_weights(golden);
  const std::size_t known = gguf_of_folder(golden.config, arrays).arrays.size();
  for (const char* name : {"eh_proj.weight", "enorm.weight", "hnorm.weight", "embed_tokens.weight",
                           "shared_head.norm.weight", "shared_head.head.weight",
                           "self_attn.o_proj.weight", "mlp.experts.0.up_proj.weight"}) {
    arrays.push_back({"model.layers.3." + std::string(name), zeros({2, 2})});
  }
  const auto with = [&](std::int64_t layers) {
    JsonObject config = without(golden.config, {"num_nextn_predict_layers"});
    config.emplace_back("num_nextn_predict_layers", layers);
    return config;
  };
  EXPECT_EQ(gguf_of_folder(with(1), arrays).arrays.size(), known);
  EXPECT_EQ(
      gguf_of_folder(without(golden.config, {"num_nextn_predict_layers"}), arrays).arrays.size(),
      known);
  EXPECT_TRUE(contains(
      error_of(ErrorCode::unsupported, [&] { static_cast<void>(gguf_of_folder(with(0), arrays)); }),
      "model.layers.3.eh_proj.weight"));
}

}  // namespace
}  // namespace hearth::models
