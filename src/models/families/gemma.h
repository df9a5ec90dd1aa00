// What the Gemma families share.
#pragma once

#include <cmath>

#include "models/families/transforms.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {

inline constexpr TensorRule kGemmaTensors[] = {
    {"model.norm", "output_norm", plus_one},
    {"model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", plus_one},
    {"model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm", plus_one},
    {"model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm", plus_one},
    {"model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm", plus_one},
    {"model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm", plus_one},
};

// GGUF files do not say by what scores are scaled, which follows from the size of heads, but for
// models of `wide_layers` layers from dim over heads.
inline void scale_wide_layers(LanguageConfig& config, const Keys& keys, std::size_t wide_layers) {
  if (config.layers.size() != wide_layers || keys.find("attention.scale") != nullptr) return;
  for (LayerConfig& layer : config.layers) {
    AttentionConfig& attention = layer.attention;
    attention.scale =
        std::sqrt(static_cast<double>(attention.heads) / static_cast<double>(config.dim));
  }
}

// config.json says the square of what scores are divided by.
inline void add_gemma_scale(const JsonObject& config, bool, GgufMetadata& metadata) {
  const auto scalar = find_number(config, "query_pre_attn_scalar");
  if (!scalar) return;
  metadata.set(metadata.as_text("general.architecture") + ".attention.scale",
               1 / std::sqrt(*scalar));
}

}  // namespace hearth::models
