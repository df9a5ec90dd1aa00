// What the families of Qwen 3-Next and 3.5 share: the gated delta rule in three of four layers,
// attention with a gate in the others.
#pragma once

#include <cstdint>
#include <vector>

#include "models/families/transforms.h"

namespace hearth::models {

inline constexpr KeyRule kQwenDeltaKeys[] = {
    {"linear_key_head_dim", "ssm.state_size"},        {"linear_num_key_heads", "ssm.group_count"},
    {"linear_num_value_heads", "ssm.time_step_rank"}, {"linear_conv_kernel_dim", "ssm.conv_kernel"},
    {"linear_value_head_dim", "ssm.value_size"},
};

// Of what folders hold by key head, [queries, keys, values, gates].
inline Array rows_of_heads(const Array& x, const FolderContext& context, bool is_gate) {
  const std::int64_t heads = context.count("ssm.group_count");
  const std::int64_t keys = context.count("ssm.state_size");
  const std::int64_t values =
      context.count("ssm.value_size") * context.count("ssm.time_step_rank") / heads;
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
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_gate_exps.weight", first_half},
    {"model.layers.{}.mlp.experts.gate_up_proj", "blk.{}.ffn_up_exps.weight", second_half},
    {"model.layers.{}.mlp.experts.down_proj", "blk.{}.ffn_down_exps.weight"},
};
// Of 3-Next, by key head.
inline constexpr TensorRule kMixedDeltaTensors[] = {
    {"model.layers.{}.linear_attn.in_proj_qkvz", "blk.{}.attn_qkv", mixed_rows},
    {"model.layers.{}.linear_attn.in_proj_qkvz", "blk.{}.attn_gate", gate_rows},
    {"model.layers.{}.linear_attn.in_proj_ba", "blk.{}.ssm_ba"},
};
// Of 3.5.
inline constexpr TensorRule kApartDeltaTensors[] = {
    {"model.layers.{}.linear_attn.in_proj_qkv", "blk.{}.attn_qkv"},
    {"model.layers.{}.linear_attn.in_proj_z", "blk.{}.attn_gate"},
    {"model.layers.{}.linear_attn.in_proj_b", "blk.{}.ssm_beta"},
    {"model.layers.{}.linear_attn.in_proj_a", "blk.{}.ssm_alpha"},
};

}  // namespace hearth::models
