// What Nomic's encoders share.
#pragma once

#include <string>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/families/key_rules.h"

namespace hearth::models {

inline constexpr KeyRule kNomicKeys[] = {
    kLayerNormEps,
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", ConfigType::number},
    {"n_positions", "context_length"},
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_head", "attention.head_count"},
    {"n_inner", "feed_forward_length"},
    {"activation_function", "hidden_activation", ConfigType::text},
    {"rotary_emb_base", "rope.freq_base", ConfigType::number},
    {"moe_every_n_layers", "moe_every_n_layers"},
    {"moe_top_k", "expert_used_count"},
};
inline constexpr FixedValue kNomicFixed[] = {
    {"causal", false},
    {"prenorm", false},
    {"parallel_block", false},
    {"use_rms_norm", false},
    {"rotary_emb_interleaved", false},
    {"rotary_emb_fraction", 1.0},
    {"scale_attn_weights", true},
    {"scale_attn_by_inverse_layer_idx", false},
    {"moe_normalize_expert_weights", false},
    {"expert_choice_router", false},
    {"num_shared_experts", 0.0},
};

// Rows of all experts [experts * hidden, dim], by expert.
inline Array nomic_experts(const Array& x, const FolderContext& context) {
  const std::int64_t experts = context.count("expert_count");
  if (x.rank() != 2 || x.shape(0) % experts != 0) {
    throw Error(ErrorCode::shape, "model: weights of experts do not fit; got " +
                                      to_string(x.shape()) + ", expected rows for each of " +
                                      std::to_string(experts));
  }
  return reshape(x, {experts, x.shape(0) / experts, x.shape(1)});
}
// The same of the second product, which folders hold as [in, out].
inline Array nomic_experts_down(const Array& x, const FolderContext& context) {
  return contiguous(swap_axes(nomic_experts(x, context), 1, 2));
}

inline constexpr TensorRule kNomicTensors[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"emb_ln", "token_embd_norm"},
    {"encoder.layers.{}.attn.Wqkv", "blk.{}.attn_qkv"},
    {"encoder.layers.{}.attn.out_proj", "blk.{}.attn_output"},
    {"encoder.layers.{}.norm1", "blk.{}.attn_output_norm"},
    {"encoder.layers.{}.mlp.fc1", "blk.{}.ffn_up"},
    {"encoder.layers.{}.mlp.fc11", "blk.{}.ffn_up"},
    {"encoder.layers.{}.mlp.fc12", "blk.{}.ffn_gate"},
    {"encoder.layers.{}.mlp.fc2", "blk.{}.ffn_down"},
    {"encoder.layers.{}.mlp.router.layer", "blk.{}.ffn_gate_inp"},
    {"encoder.layers.{}.mlp.experts.mlp.w1", "blk.{}.ffn_up_exps.weight", nomic_experts},
    {"encoder.layers.{}.mlp.experts.mlp.w2", "blk.{}.ffn_down_exps.weight", nomic_experts_down},
    {"encoder.layers.{}.mlp.experts.bias", "blk.{}.ffn_exps.bias"},
    {"encoder.layers.{}.norm2", "blk.{}.layer_output_norm"},
};

}  // namespace hearth::models
