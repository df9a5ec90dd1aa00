// DeepSeek V2 and V3, Kimi K2: multi-head latent attention; experts by groups, and shared ones.
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kDeepseekTypes[] = {"deepseek_v2", "deepseek_v3", "kimi_k2"};
constexpr KeyRule kDeepseekKeys[] = {
    {"q_lora_rank", "attention.q_lora_rank"},
    {"kv_lora_rank", "attention.kv_lora_rank"},
    {"qk_head_dim", "attention.key_length_mla"},
    {"v_head_dim", "attention.value_length_mla"},
    {"n_shared_experts", "expert_shared_count"},
    {"routed_scaling_factor", "expert_weights_scale"},
    {"first_k_dense_replace", "leading_dense_block_count"},
};
constexpr TensorRule kDeepseekTensors[] = {
    {"model.layers.{}.self_attn.q_a_proj", "blk.{}.attn_q_a"},
    {"model.layers.{}.self_attn.q_a_layernorm", "blk.{}.attn_q_a_norm"},
    {"model.layers.{}.self_attn.q_b_proj", "blk.{}.attn_q_b"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"},
    {"model.layers.{}.self_attn.kv_a_layernorm", "blk.{}.attn_kv_a_norm"},
    {"model.layers.{}.self_attn.kv_b_proj", "blk.{}.attn_kv_b"},
    {"model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.shared_experts.gate_proj", "blk.{}.ffn_gate_shexp"},
    {"model.layers.{}.mlp.shared_experts.up_proj", "blk.{}.ffn_up_shexp"},
    {"model.layers.{}.mlp.shared_experts.down_proj", "blk.{}.ffn_down_shexp"},
};

// In files of newer writers heads are those of the latent row, and the sizes of expanded ones have
// keys of their own.
void adjust_deepseek(LanguageConfig& config, const Keys& keys, FileKind) {
  for (LayerConfig& layer : config.layers) {
    AttentionConfig& attention = layer.attention;
    const std::int64_t key_dim = keys.size("attention.key_length_mla", attention.key_dim);
    // Set anew: it was made for heads of another size.
    attention.scale *=
        std::sqrt(static_cast<double>(attention.key_dim) / static_cast<double>(key_dim));
    attention.key_dim = key_dim;
    attention.value_dim = keys.size("attention.value_length_mla", attention.value_dim);
    attention.latent = LatentConfig{.query_rank = keys.size("attention.q_lora_rank", 0),
                                    .rank = keys.size("attention.kv_lora_rank"),
                                    .rope_dims = keys.size("rope.dimension_count")};
    layer.experts.best_two_of_group = layer.experts.gate == RouterGate::sigmoid;
  }
}

void add_deepseek_keys(const JsonObject& config, const JsonObject&, GgufMetadata& metadata) {
  const auto count = [&](const char* key) {
    return static_cast<std::uint32_t>(find_integer(config, key).value_or(0));
  };
  metadata.set("deepseek2.rope.dimension_count", count("qk_rope_head_dim"));
  metadata.set("deepseek2.attention.key_length_mla",
               count("qk_nope_head_dim") + count("qk_rope_head_dim"));
  const bool is_v2 = find_text(config, "model_type").value_or("") == "deepseek_v2";
  // V2 scores by softmax and normalises nothing.
  metadata.set("deepseek2.expert_gating_func", std::uint32_t{is_v2 ? 1u : 2u});
  if (is_v2) metadata.set("deepseek2.expert_weights_norm", false);
  const bool has_groups =
      !is_v2 || find_text(config, "topk_method").value_or("") == "group_limited_greedy";
  if (has_groups && count("n_group") > 1) {
    metadata.set("deepseek2.expert_group_count", count("n_group"));
    metadata.set("deepseek2.expert_group_used_count", count("topk_group"));
  }
}

// Keys and values apart, keys by what they expand from; heads are those of the latent row.
void lay_out_deepseek(GgufContents& contents, const LanguageConfig& config) {
  NamedArrays arrays;
  for (NamedArray& each : contents.arrays) {
    const std::string_view ending = "attn_kv_b.weight";
    if (!each.name.ends_with(ending)) {
      arrays.push_back(std::move(each));
      continue;
    }
    const AttentionConfig& attention = config.layers.front().attention;
    const std::int64_t plain = attention.key_dim - attention.latent->rope_dims;
    const Array open = is_packed(each.array.dtype()) ? dequantize(each.array) : each.array;
    const Array both =
        reshape(open, {attention.heads, plain + attention.value_dim, attention.latent->rank});
    const std::string prefix = each.name.substr(0, each.name.size() - ending.size());
    arrays.push_back(
        {prefix + "attn_k_b.weight", contiguous(swap_axes(narrow(both, 1, 0, plain), 1, 2))});
    arrays.push_back(
        {prefix + "attn_v_b.weight", contiguous(narrow(both, 1, plain, attention.value_dim))});
  }
  contents.arrays = std::move(arrays);
  const LatentConfig& latent = *config.layers.front().attention.latent;
  const auto set = [&](const char* key, std::int64_t value) {
    contents.metadata.set(std::string("deepseek2.attention.") + key,
                          static_cast<std::uint32_t>(value));
  };
  set("head_count_kv", 1);
  set("key_length", latent.rank + latent.rope_dims);
  set("value_length", latent.rank);
}

}  // namespace

Family deepseek2_family() {
  return {.architecture = "deepseek2",
          .model_types = kDeepseekTypes,
          .rope = RopePairs::neighbours,
          .adjust = adjust_deepseek,
          .keys = kDeepseekKeys,
          .tensors = kDeepseekTensors,
          .adjust_folder = add_deepseek_keys,
          .adjust_file = lay_out_deepseek};
}

}  // namespace hearth::models
