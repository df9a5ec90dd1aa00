#include "models/language/folder/standard_rules.h"

namespace hearth::models {
namespace {

// Of several rules for one key of GGUF the last that the file has stands.
constexpr KeyRule kStandardKeys[] = {
    {"vocab_size", "vocab_size"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"num_hidden_layers", "block_count"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"head_dim", "attention.value_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", ConfigType::number},
    {"sliding_window", "attention.sliding_window"},
    {"_sliding_window_pattern", "attention.sliding_window_pattern"},
    {"sliding_window_pattern", "attention.sliding_window_pattern"},
    {"attn_logit_softcapping", "attn_logit_softcapping", ConfigType::number},
    {"final_logit_softcapping", "final_logit_softcapping", ConfigType::number},
    {"num_experts", "expert_count"},
    {"num_local_experts", "expert_count"},
    {"n_routed_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"top_k_experts", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"norm_topk_prob", "expert_weights_norm", ConfigType::flag},
    {"n_shared_experts", "expert_shared_count"},
    {"routed_scaling_factor", "expert_weights_scale", ConfigType::number},
    {"first_k_dense_replace", "leading_dense_block_count"},
    {"n_group", "expert_group_count"},
    {"topk_group", "expert_group_used_count"},
    {"q_lora_rank", "attention.q_lora_rank"},
    {"kv_lora_rank", "attention.kv_lora_rank"},
    {"qk_rope_head_dim", "rope.dimension_count"},
    {"v_head_dim", "attention.value_length_mla"},
    {"num_kv_shared_layers", "attention.shared_kv_layers"},
    {"hidden_act", "hidden_activation", ConfigType::text},
    {"hidden_activation", "hidden_activation", ConfigType::text},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
};

// A bias that is said and not there is zero; one that is there counts, whatever is said.
constexpr KeyRule kTypedKeys[] = {
    {"attention_bias", "", ConfigType::flag},
    {"mlp_bias", "", ConfigType::flag},
    {"use_bias", "", ConfigType::flag},
    {"tie_word_embeddings", "", ConfigType::flag},
};

constexpr TensorRule kStandardTensors[] = {
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"model.layers.{}.input_layernorm", "blk.{}.attn_norm"},
    {"model.layers.{}.self_attn.q_proj", "blk.{}.attn_q"},
    {"model.layers.{}.self_attn.k_proj", "blk.{}.attn_k"},
    {"model.layers.{}.self_attn.v_proj", "blk.{}.attn_v"},
    {"model.layers.{}.self_attn.o_proj", "blk.{}.attn_output"},
    {"model.layers.{}.self_attn.q_a_proj", "blk.{}.attn_q_a"},
    {"model.layers.{}.self_attn.q_a_layernorm", "blk.{}.attn_q_a_norm"},
    {"model.layers.{}.self_attn.q_b_proj", "blk.{}.attn_q_b"},
    {"model.layers.{}.self_attn.kv_a_proj_with_mqa", "blk.{}.attn_kv_a_mqa"},
    {"model.layers.{}.self_attn.kv_a_layernorm", "blk.{}.attn_kv_a_norm"},
    {"model.layers.{}.self_attn.kv_b_proj", "blk.{}.attn_kv_b"},
    {"model.layers.{}.self_attn.q_norm", "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.k_norm", "blk.{}.attn_k_norm"},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"},
    {"model.layers.{}.pre_feedforward_layernorm", "blk.{}.ffn_norm"},
    {"model.layers.{}.post_feedforward_layernorm", "blk.{}.post_ffw_norm"},
    {"model.layers.{}.mlp.gate_proj", "blk.{}.ffn_gate"},
    {"model.layers.{}.mlp.up_proj", "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.down_proj", "blk.{}.ffn_down"},
    {"model.layers.{}.mlp.gate", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.mlp.gate.e_score_correction_bias", "blk.{}.exp_probs_b.bias"},
    {"model.layers.{}.mlp.experts.{}.gate_proj", "blk.{}.ffn_gate_exps"},
    {"model.layers.{}.mlp.experts.{}.up_proj", "blk.{}.ffn_up_exps"},
    {"model.layers.{}.mlp.experts.{}.down_proj", "blk.{}.ffn_down_exps"},
    {"model.layers.{}.mlp.shared_experts.gate_proj", "blk.{}.ffn_gate_shexp"},
    {"model.layers.{}.mlp.shared_experts.up_proj", "blk.{}.ffn_up_shexp"},
    {"model.layers.{}.mlp.shared_experts.down_proj", "blk.{}.ffn_down_shexp"},
    // Frequencies that old checkpoints hold follow from the configuration.
    {"model.layers.{}.self_attn.rotary_emb", ""},
    {"model.rotary_emb", ""},
};

}  // namespace

std::span<const KeyRule> standard_keys() { return kStandardKeys; }
std::span<const KeyRule> typed_keys() { return kTypedKeys; }
std::span<const TensorRule> standard_tensors() { return kStandardTensors; }

}  // namespace hearth::models
