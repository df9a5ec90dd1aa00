// What the families of Qwen 3-Next and 3.5 share: the gated delta rule in three of four layers,
// attention with a gate in the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/families/transforms.h"
#include "models/language/folder/file_layout.h"

namespace hearth::models {

inline constexpr KeyRule kQwenDeltaKeys[] = {
    {"linear_key_head_dim", "ssm.state_size"},        {"linear_num_key_heads", "ssm.group_count"},
    {"linear_num_value_heads", "ssm.time_step_rank"}, {"linear_conv_kernel_dim", "ssm.conv_kernel"},
    {"linear_value_head_dim", "ssm.value_size"},
};

inline void adjust_qwen_delta(LanguageConfig& config, const Keys& keys, bool is_tiled) {
  DeltaConfig& delta = config.delta;
  delta.key_heads = keys.size("ssm.group_count");
  delta.value_heads = keys.size("ssm.time_step_rank");
  delta.key_dim = keys.size("ssm.state_size");
  // GGUF's heads of values are as long as those of keys.
  delta.value_dim = keys.size("ssm.value_size", delta.key_dim);
  delta.kernel = keys.size("ssm.conv_kernel");
  delta.is_tiled = is_tiled;
  const std::int64_t period = keys.size("full_attention_interval", 4);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const bool is_last = period > 0 && layer % period == period - 1;
    const bool is_recurrent = keys.flag_of("attention.recurrent_layers", layer, !is_last);
    config.layers[i].mixer = is_recurrent ? Mixer::delta : Mixer::attention;
    config.layers[i].attention.is_gated = true;
  }
}

// Of what folders hold by key head, [queries, keys, values, gates].
inline Array rows_of_heads(const Array& x, const FolderContext& context, bool is_gate) {
  const std::int64_t heads = context.size("ssm.group_count");
  const std::int64_t keys = context.size("ssm.state_size");
  const std::int64_t values =
      context.size("ssm.value_size") * context.size("ssm.time_step_rank") / heads;
  const Array by_head = reshape(x, {heads, 2 * keys + 2 * values, x.shape(1)});
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return reshape(narrow(by_head, 1, first, count), {heads * count, x.shape(1)});
  };
  if (is_gate) return part(2 * keys + values, values);
  return cat(std::vector<Array>{part(0, keys), part(keys, keys), part(2 * keys, values)}, 0);
}
inline Array mixed_rows(const Array& x, const FolderContext& context) {
  return rows_of_heads(x, context, false);
}
inline Array gate_rows(const Array& x, const FolderContext& context) {
  return rows_of_heads(x, context, true);
}

inline void say_delta_sizes(GgufContents& contents, const LanguageConfig& config) {
  const DeltaConfig& delta = config.delta;
  contents.metadata.set(config.architecture + ".ssm.inner_size",
                        static_cast<std::uint32_t>(delta.value_heads * delta.value_dim));
}

// Heads of values dealt out to those of keys in turn: head k of keys first gets one value head,
// and so do all others, before it gets its second.
inline void tile_value_heads(GgufContents& contents, const LanguageConfig& config) {
  say_delta_sizes(contents, config);
  const DeltaConfig& delta = config.delta;
  const std::int64_t ratio = delta.value_heads / delta.key_heads;
  const std::int64_t before = 2 * delta.key_heads * delta.key_dim;
  const auto order_of = [&](std::int64_t kept, std::int64_t width) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < kept; ++i) order.push_back(i);
    for (std::int64_t head = 0; head < delta.value_heads; ++head) {
      const std::int64_t from = head % delta.key_heads * ratio + head / delta.key_heads;
      for (std::int64_t i = 0; i < width; ++i) order.push_back(kept + from * width + i);
    }
    return order;
  };
  const auto reorder = [&](const char* ending, std::int64_t kept, std::int64_t width, int axis) {
    change_arrays(contents.arrays, ending, [&](const Array& x) {
      require_extent(x, axis, kept + delta.value_heads * width);
      return in_order(x, order_of(kept, width), axis);
    });
  };
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (config.layers[i].mixer != Mixer::delta) continue;
    const std::string prefix = "blk." + std::to_string(i) + ".";
    for (const char* name : {"attn_qkv.weight", "ssm_conv1d.weight"}) {
      reorder((prefix + name).c_str(), before, delta.value_dim, 0);
    }
    reorder((prefix + "attn_gate.weight").c_str(), 0, delta.value_dim, 0);
    for (const char* name : {"ssm_alpha.weight", "ssm_beta.weight", "ssm_a", "ssm_dt.bias"}) {
      reorder((prefix + name).c_str(), 0, 1, 0);
    }
    reorder((prefix + "ssm_out.weight").c_str(), 0, delta.value_dim, 1);
  }
}

inline constexpr TensorRule kQwenDeltaTensors[] = {
    {"model.norm", "output_norm", plus_one},
    {"model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm", plus_one},
    {"model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm", plus_one},
    {"model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm", plus_one},
    {"model.layers.{}.linear_attn.A_log", "blk.{}.ssm_a", negative_exp},
    {"model.layers.{}.linear_attn.dt_bias", "blk.{}.ssm_dt.bias"},
    {"model.layers.{}.linear_attn.conv1d", "blk.{}.ssm_conv1d", flat_kernel},
    {"model.layers.{}.linear_attn.norm", "blk.{}.ssm_norm"},
    {"model.layers.{}.linear_attn.out_proj", "blk.{}.ssm_out"},
    {"model.layers.{}.linear_attn.in_proj_qkvz", "blk.{}.attn_qkv", mixed_rows},
    {"model.layers.{}.linear_attn.in_proj_qkvz", "blk.{}.attn_gate", gate_rows},
    {"model.layers.{}.linear_attn.in_proj_ba", "blk.{}.ssm_ba"},
    {"model.layers.{}.linear_attn.in_proj_qkv", "blk.{}.attn_qkv"},
    {"model.layers.{}.linear_attn.in_proj_z", "blk.{}.attn_gate"},
    {"model.layers.{}.linear_attn.in_proj_b", "blk.{}.ssm_beta"},
    {"model.layers.{}.linear_attn.in_proj_a", "blk.{}.ssm_alpha"},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", first_half},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_up_exps.weight", second_half},
    {"model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight"},
};

}  // namespace hearth::models
