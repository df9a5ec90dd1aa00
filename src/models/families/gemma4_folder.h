// What folders of Gemma 4 call their numbers and tensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {

inline constexpr KeyRule kGemma4Keys[] = {
    {"top_k_experts", "expert_used_count"},
    {"num_kv_shared_layers", "attention.shared_kv_layers"},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
    {"head_dim", "attention.key_length_swa"},
    {"head_dim", "attention.value_length_swa"},
};

inline constexpr TensorRule kGemma4Tensors[] = {
    {"model.embed_tokens_per_layer", "per_layer_token_embd"},
    {"model.per_layer_model_projection", "per_layer_model_proj"},
    {"model.per_layer_projection_norm", "per_layer_proj_norm"},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm"},
    {"model.layers.{}.pre_feedforward_layernorm_2", "blk.{}.pre_ffw_norm_2"},
    {"model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
    {"model.layers.{}.post_feedforward_layernorm_1", "blk.{}.post_ffw_norm_1"},
    {"model.layers.{}.post_feedforward_layernorm_2", "blk.{}.post_ffw_norm_2"},
    {"model.layers.{}.layer_scalar", "blk.{}.layer_output_scale.weight"},
    {"model.layers.{}.per_layer_input_gate", "blk.{}.inp_gate"},
    {"model.layers.{}.per_layer_projection", "blk.{}.proj"},
    {"model.layers.{}.post_per_layer_input_norm", "blk.{}.post_norm"},
    {"model.layers.{}.router.proj", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.router.scale", "blk.{}.ffn_gate_inp.scale"},
    {"model.layers.{}.router.per_expert_scale", "blk.{}.ffn_down_exps.scale"},
    {"model.layers.{}.experts.gate_up_proj", "blk.{}.ffn_gate_up_exps.weight"},
    {"model.layers.{}.experts.down_proj", "blk.{}.ffn_down_exps.weight"},
};

// A number of the layers that see all keys: of the first that has one for itself, or, in older
// files, by a name of its own.
inline std::optional<std::int64_t> number_of_full_layers(const JsonObject& config, const char* key,
                                                         const char* old_key) {
  if (const JsonObject* own = find_object(config, "per_layer_config")) {
    for (const auto& [layer, value] : *own) {
      const auto* values = std::get_if<JsonObject>(&value);
      const auto number = values == nullptr ? std::nullopt : find_integer(*values, key);
      if (number) return number;
    }
  }
  return find_integer(config, old_key);
}

inline void add_gemma4_keys(const JsonObject& config, const JsonObject&, GgufMetadata& metadata) {
  if (find_text(config, "use_bidirectional_attention").value_or("") == "all") {
    throw Error(ErrorCode::unsupported,
                "config.json: rows that see those after them; got use_bidirectional_attention "
                "\"all\", expected \"vision\" or none");
  }
  const auto count = [&](const char* key) {
    const std::int64_t value = find_integer(config, key).value_or(0);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 1 << 28));
  };
  constexpr std::int64_t kFullHeadDim = 512;  // where files do not say
  const auto head_dim = static_cast<std::uint32_t>(
      number_of_full_layers(config, "head_dim", "global_head_dim").value_or(kFullHeadDim));
  metadata.set("gemma4.attention.key_length", head_dim);
  metadata.set("gemma4.attention.value_length", head_dim);
  const double part =
      find_number(config, "rope_parameters.sliding_attention.partial_rotary_factor").value_or(1);
  metadata.set("gemma4.rope.dimension_count_swa",
               static_cast<std::uint32_t>(part * count("head_dim")));
  const auto full_heads =
      number_of_full_layers(config, "num_key_value_heads", "num_global_key_value_heads");
  const bool has_own_heads = find_flag(config, "attention_k_eq_v").value_or(false) && full_heads;
  const std::size_t layers = std::min<std::size_t>(count("num_hidden_layers"), 10000);
  const bool is_wide = find_flag(config, "use_double_wide_mlp").value_or(false);
  const std::size_t own = layers - std::min<std::size_t>(layers, count("num_kv_shared_layers"));
  std::vector<std::uint32_t> heads, hidden;
  const GgufValue* windows = metadata.find("gemma4.attention.sliding_window_pattern");
  for (std::size_t i = 0; i < layers; ++i) {
    const bool has_window = windows != nullptr && windows->is_array() &&
                            i < windows->as_bools().size() && windows->as_bools()[i];
    const bool is_full = has_own_heads && !has_window;
    heads.push_back(is_full ? static_cast<std::uint32_t>(*full_heads)
                            : count("num_key_value_heads"));
    hidden.push_back(count("intermediate_size") * (is_wide && i >= own ? 2 : 1));
  }
  if (has_own_heads) metadata.set("gemma4.attention.head_count_kv", heads);
  if (is_wide) metadata.set("gemma4.feed_forward_length", hidden);
  if (!find_flag(config, "enable_moe_block").value_or(false)) metadata.erase("gemma4.expert_count");
}

}  // namespace hearth::models
