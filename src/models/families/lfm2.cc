// LFM2: short convolutions between gates, and attention in some layers.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/families/transforms.h"
#include "models/files/layer_limit.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kLfm2Defaults =
    R"({"max_position_embeddings": 128000, "hidden_size": 2560, "intermediate_size": 12288,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "norm_eps": 1e-5, "rope_theta": 1e6, "conv_L_cache": 3, "tie_word_embeddings": true,
        "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0,
        "block_multiple_of": 256})";
constexpr FolderType kLfm2Types[] = {{.name = "lfm2", .defaults = kLfm2Defaults}};
constexpr KeyRule kLfm2Keys[] = {
    {"norm_eps", "attention.layer_norm_rms_epsilon", ConfigType::number},
    {"block_ff_dim", "feed_forward_length"},
    {"conv_L_cache", "shortconv.l_cache"},
};
constexpr FixedValue kLfm2Fixed[] = {{"tie_embedding", true}};
constexpr TensorRule kLfm2Tensors[] = {
    {"model.embedding_norm", "token_embd_norm"},
    {"model.layers.{}.operator_norm", "blk.{}.attn_norm"},
    {"model.layers.{}.ffn_norm", "blk.{}.ffn_norm"},
    {"model.layers.{}.self_attn.out_proj", "blk.{}.attn_output"},
    {"model.layers.{}.self_attn.q_layernorm", "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.k_layernorm", "blk.{}.attn_k_norm"},
    {"model.layers.{}.conv.conv", "blk.{}.shortconv.conv", flat_kernel},
    {"model.layers.{}.conv.in_proj", "blk.{}.shortconv.in_proj"},
    {"model.layers.{}.conv.out_proj", "blk.{}.shortconv.out_proj"},
    {"model.layers.{}.feed_forward.w1", "blk.{}.ffn_gate"},
    {"model.layers.{}.feed_forward.w2", "blk.{}.ffn_down"},
    {"model.layers.{}.feed_forward.w3", "blk.{}.ffn_up"},
};

// Of most models two thirds of what is said, rounded up.
std::int64_t width_of_feed_forward(const JsonObject& config, std::int64_t said) {
  if (!find_flag(config, "block_auto_adjust_ff_dim").value_or(false)) return said;
  const std::optional<double> multiplier = find_number(config, "block_ffn_dim_multiplier");
  if (!multiplier) return 2 * said / 3;
  const std::int64_t unit =
      std::max<std::int64_t>(find_count(config, "block_multiple_of").value_or(1), 1);
  const double part = *multiplier * static_cast<double>(2 * said / 3);
  if (!(part >= 0 && part <= kMostCount)) return -1;
  return (static_cast<std::int64_t>(part) + unit - 1) / unit * unit;
}

void add_lfm2_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  const std::string width = "lfm2.feed_forward_length";
  set_count(metadata, width, width_of_feed_forward(config, metadata.as_int(width)));
  // Layers with a convolution are those without heads of keys.
  const JsonArray* types = find_array(config, "layer_types");
  const JsonArray* full = find_array(config, "full_attn_idxs");
  const std::int64_t heads = find_count(config, "num_key_value_heads").value_or(0);
  const JsonValue attention = std::string("full_attention");
  std::vector<std::uint32_t> all;
  for (std::int64_t i = 0; i < layers_of(config); ++i) {
    const bool attends =
        types != nullptr
            ? i < std::ssize(*types) && (*types)[static_cast<std::size_t>(i)] == attention
            : full == nullptr || std::ranges::count(*full, JsonValue(i)) > 0;
    all.push_back(attends ? static_cast<std::uint32_t>(heads) : 0);
  }
  metadata.set("lfm2.attention.head_count_kv", all);
  metadata.erase("lfm2.attention.recurrent_layers");
  metadata.erase("lfm2.attention.sliding_window_pattern");
}

}  // namespace

Family lfm2_family() {
  return {.architecture = "lfm2",
          .model_types = kLfm2Types,
          .mixer = Mixer::convolution,
          .keys = kLfm2Keys,
          .tensors = kLfm2Tensors,
          .fixed = kLfm2Fixed,
          .adjust_folder = add_lfm2_keys};
}

}  // namespace hearth::models
