// Sizes that no model has, in config.json and in the metadata of GGUF files: errors with the key,
// before anything is divided by them or multiplied.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "hearth/ops.h"
#include "models/golden_model.h"
#include "models/language/folder/folder_model.h"
#include "models/language/mixer.h"
#include "models/language/read_config.h"
#include "models/serving/memory_plan.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;

// Of a folder's configuration with `members` in place of its own, beside a tensor where `tensor`
// names one.
GgufContents contents_with(const std::string& golden, const std::string& members,
                           const std::string& tensor) {
  JsonObject config = testing::read_golden_model(golden).config;
  const auto given = std::get<JsonObject>(parse_json("{" + members + "}").value());
  for (const auto& member : given) {
    std::erase_if(config, [&](const auto& each) { return each.first == member.first; });
    config.push_back(member);
  }
  NamedArrays arrays;
  if (!tensor.empty()) arrays.push_back({tensor, zeros({144, 48})});
  return gguf_of_folder(config, arrays);
}

// What reading it refuses.
std::string refused_folder(const std::string& golden, const std::string& members,
                           const std::string& tensor = "") {
  return error_of(ErrorCode::invalid_argument, [&] {
    static_cast<void>(
        read_config(contents_with(golden, members, tensor).metadata, FileKind::folder));
  });
}

TEST(HostileSizes, OfTensorsThatAreTakenApart) {
  const std::string mixed = "model.layers.0.linear_attn.in_proj_qkvz.weight";
  EXPECT_TRUE(contains(refused_folder("qwen3_next", R"("linear_num_key_heads": 0)", mixed),
                       "qwen3next.ssm.group_count: no size; got 0, expected at least 1"));
  EXPECT_TRUE(contains(refused_folder("qwen3_next",
                                      R"("linear_num_value_heads": 4294967295,
                                         "linear_value_head_dim": 4294967295)",
                                      mixed),
                       "ssm.value_size: out of range; got 4294967295, expected 0 to 1048576"));
  EXPECT_TRUE(contains(refused_folder("gpt_neox", R"("num_attention_heads": 0)",
                                      "gpt_neox.layers.0.attention.query_key_value.weight"),
                       "gptneox.attention.head_count: no size; got 0"));
  const std::string groups = "transformer.h.0.self_attention.query_key_value.weight";
  EXPECT_TRUE(contains(refused_folder("falcon_groups", R"("num_kv_heads": 0)", groups),
                       "falcon.attention.head_count_kv: no size; got 0"));
  EXPECT_TRUE(contains(refused_folder("nomic_bert_moe", R"("num_experts": 0)",
                                      "encoder.layers.1.mlp.experts.mlp.w1"),
                       "expert_count: no size; got 0"));
}

TEST(HostileSizes, OfAVocabularyThatTheEmbeddingDoesNotHave) {
  const auto refused = [](const std::string& members) {
    return refused_folder("llama", members, "model.embed_tokens.weight");  // of 144 rows
  };
  for (const char* size : {"0", "1", "143", "145"}) {
    EXPECT_TRUE(contains(refused(R"("vocab_size": )" + std::string(size)),
                         "vocab_size does not fit the embedding; got " + std::string(size) +
                             ", expected its 144 rows"));
  }
  for (const char* fitting :
       {R"("vocab_size": 144)", R"("vocab_size": 130, "pad_vocab_size_multiple": 16)"}) {
    EXPECT_NO_THROW(contents_with("llama", fitting, "model.embed_tokens.weight")) << fitting;
  }
  EXPECT_TRUE(contains(refused(R"("vocab_size": 128, "pad_vocab_size_multiple": 16)"),
                       "vocab_size does not fit"));
}

TEST(HostileSizes, OfAWindowThatSeesNothing) {
  for (const char* golden : {"mistral_window", "gemma3", "gpt_oss"}) {
    EXPECT_TRUE(contains(refused_folder(golden, R"("sliding_window": 0)"),
                         "sliding_window of no rows; got 0"))
        << golden;
  }
  EXPECT_NO_THROW(contents_with("mistral_window", R"("sliding_window": null)", ""));
}

TEST(HostileSizes, ThatDoNotFitTheNumbersOfFiles) {
  EXPECT_TRUE(contains(refused_folder("gpt2", R"("n_embd": 1073741824, "n_inner": null)"),
                       "gpt2.feed_forward_length: out of range; got 4294967296"));
  EXPECT_TRUE(contains(
      refused_folder("gemma4_outer", R"("per_layer_config": null, "global_head_dim": 4294967552)"),
      "global_head_dim: out of range; got 4294967552"));
  EXPECT_TRUE(contains(refused_folder("gemma4_outer", R"("head_dim": 268435457)"),
                       "head_dim: out of range; got 268435457"));
  const auto sections = [](const std::string& numbers) {
    return refused_folder("qwen3_5", R"("rope_parameters": {"rope_type": "default",
        "rope_theta": 10000.0, "mrope_section": )" +
                                         numbers + "}");
  };
  EXPECT_TRUE(contains(sections("[1, -2, 1]"), "mrope_section: out of range; got -2"));
  EXPECT_TRUE(contains(sections("[1, 4294967297, 1]"), "got 4294967297, expected 0 to 1048576"));
  EXPECT_TRUE(contains(sections("[1, 1, 1, 1, 1]"), "got 5, expected at most 4 numbers"));
}

GgufMetadata metadata_with(const std::vector<GgufEntry>& entries) {
  GgufMetadata all = {{"general.architecture", "qwen3moe"},
                      {"qwen3moe.embedding_length", std::uint32_t{64}},
                      {"qwen3moe.context_length", std::uint32_t{128}},
                      {"qwen3moe.block_count", std::uint32_t{2}},
                      {"qwen3moe.feed_forward_length", std::uint32_t{96}},
                      {"qwen3moe.attention.head_count", std::uint32_t{4}},
                      {"qwen3moe.expert_count", std::uint32_t{8}},
                      {"qwen3moe.expert_used_count", std::uint32_t{2}},
                      {"qwen3moe.expert_feed_forward_length", std::uint32_t{32}}};
  for (const GgufEntry& each : entries) all.set("qwen3moe." + each.key, each.value);
  return all;
}

TEST(HostileSizes, OfFilesAreRefusedBeforeTheyAreMultiplied) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const auto refused = [](const std::vector<GgufEntry>& entries) {
    return error_of(ErrorCode::invalid_argument, [&] {
      static_cast<void>(
          plan_memory({{{}, metadata_with(entries)}, FileKind::gguf, {}}, {.context = 64}));
    });
  };
  for (const char* key :
       {"embedding_length", "feed_forward_length", "expert_count", "expert_feed_forward_length",
        "expert_shared_count", "expert_shared_feed_forward_length", "attention.key_length",
        "rope.dimension_count", "embedding_length_per_layer_input"}) {
    EXPECT_TRUE(contains(refused({{key, kMost}}),
                         std::string("qwen3moe.") + key + ": out of range; got 1099511627776"))
        << key;
  }
  EXPECT_TRUE(contains(refused({{"expert_shared_count", std::uint64_t{1} << 20}}),
                       "expert_shared_feed_forward_length: out of range; got 33554432"));
  EXPECT_TRUE(contains(refused({{"expert_count", kMost},
                                {"expert_used_count", kMost},
                                {"expert_feed_forward_length", kMost}}),
                       "out of range"));
  // As wide as can be, with a width of shared experts, so that none is made of their count.
  constexpr std::uint64_t kWide = std::uint64_t{1} << 20;
  const MemoryPlan plan =
      plan_memory({{{},
                    metadata_with({{"expert_count", kWide},
                                   {"expert_used_count", kWide},
                                   {"expert_feed_forward_length", kWide},
                                   {"expert_shared_count", kWide},
                                   {"expert_shared_feed_forward_length", std::uint32_t{16}}})},
                   FileKind::gguf,
                   {}},
                  {.context = 64});
  EXPECT_GT(plan.activations, std::int64_t{2} << 40);
}

// Whatever type they have, and however many there are.
TEST(HostileSizes, OfLayersAreReadOneByOne) {
  const auto hidden = [](GgufValue widths, std::size_t layer) {
    return read_config(metadata_with({{"expert_count", std::uint32_t{0}},
                                      {"feed_forward_length", std::move(widths)}}),
                       FileKind::gguf)
        .layers[layer]
        .hidden;
  };
  EXPECT_EQ(hidden(std::vector<std::int32_t>{5, 6, 7}, 1), 6);
  EXPECT_EQ(hidden(std::vector<std::uint64_t>{5, 6}, 0), 5);
  const auto refused = [&](GgufValue widths) {
    return error_of(ErrorCode::invalid_argument, [&] { hidden(std::move(widths), 0); });
  };
  EXPECT_TRUE(contains(refused(std::vector<std::int32_t>{5}), "too few values; got 1"));
  EXPECT_TRUE(contains(refused(std::vector<std::int32_t>{5, -1}), "out of range; got -1"));
  EXPECT_TRUE(contains(refused(std::vector<std::string>{"5", "6"}), "expected an integer"));
  EXPECT_TRUE(contains(refused(std::vector<std::uint64_t>{5, UINT64_MAX}), "feed_forward_length"));
}

// Queries and what they see are as wide as the latent row, of each head.
TEST(HostileSizes, OfLatentRowsAreThoseOfMemory) {
  LanguageConfig config;
  config.latent = {.query_rank = 0, .rank = 512, .rope_dims = 64};
  LayerConfig layer;
  layer.attention.heads = layer.attention.kv_heads = 128;
  layer.attention.key_dim = 192;
  layer.attention.value_dim = 128;
  EXPECT_GE(definition_of(Mixer::latent).widest_columns(config, layer), 128 * (3 * 512 + 64));
}

}  // namespace
}  // namespace hearth::models
