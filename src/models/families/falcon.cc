// Falcon 7B, 40B, 180B and Falcon 2: both blocks of a layer side by side, behind one LayerNorm or
// one each; no biases but of norms.
#include <vector>

#include "hearth/ops.h"
#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kFalconDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4544, "num_hidden_layers": 32,
        "num_attention_heads": 71, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": true})";
constexpr FolderType kFalconTypes[] = {{.name = "falcon", .defaults = kFalconDefaults}};
constexpr KeyRule kFalconKeys[] = {
    {"ffn_hidden_size", "feed_forward_length"},
    {"activation", "hidden_activation", ConfigType::text},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", ConfigType::number},
};
// Scores that fall with distance, as Falcon RW has them.
constexpr FixedValue kFalconFixed[] = {{"alibi", false}};

// Folders hold queries by group, each group's before its key and its value.
Array by_kind_of_groups(const Array& x, const FolderContext& context) {
  const std::int64_t groups = context.count("attention.head_count_kv");
  const std::int64_t queries = context.count("attention.head_count") / groups;
  Shape apart = x.shape();
  apart[0] = x.shape(0) / (groups * (queries + 2));
  apart.insert(0, queries + 2);
  apart.insert(0, groups);
  std::vector<Array> kinds = split(reshape(x, apart), {queries, 1, 1}, 1);
  for (Array& kind : kinds) {
    Shape flat = x.shape();
    flat[0] = -1;
    kind = reshape(kind, flat);
  }
  return cat(kinds, 0);
}

constexpr TensorRule kFalconTensors[] = {
    {"transformer.word_embeddings", "token_embd"},
    {"transformer.ln_f", "output_norm"},
    {"transformer.h.{}.input_layernorm", "blk.{}.attn_norm"},
    {"transformer.h.{}.ln_mlp", "blk.{}.attn_norm"},
    {"transformer.h.{}.ln_attn", "blk.{}.attn_norm_2"},
    {"transformer.h.{}.post_attention_layernorm", "blk.{}.ffn_norm"},  // blocks in turn
    {"transformer.h.{}.self_attention.query_key_value", "blk.{}.attn_qkv", by_kind_of_groups},
    {"transformer.h.{}.self_attention.dense", "blk.{}.attn_output"},
    {"transformer.h.{}.self_attention.rotary_emb", ""},
    {"transformer.h.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"},
    {"transformer.h.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"},
};

void add_falcon_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  const bool has_groups = find_flag(config, "new_decoder_architecture").value_or(false);
  std::int64_t groups = find_count(config, "num_attention_heads").value_or(0);
  if (has_groups) groups = find_count(config, "num_kv_heads").value_or(groups);
  const bool shares = !has_groups && find_flag(config, "multi_query").value_or(true);
  set_count(metadata, "falcon.attention.head_count_kv", shares ? 1 : groups);
  if (metadata.contains("falcon.feed_forward_length")) return;
  set_count(metadata, "falcon.feed_forward_length", 4 * metadata.as_int("falcon.embedding_length"));
}

}  // namespace

Family falcon_family() {
  return {.architecture = "falcon",
          .model_types = kFalconTypes,
          .activation = Activation::gelu,
          .may_share_norm = true,
          .keys = kFalconKeys,
          .tensors = kFalconTensors,
          .fixed = kFalconFixed,
          .adjust_folder = add_falcon_keys};
}

}  // namespace hearth::models
