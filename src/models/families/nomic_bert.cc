// Nomic's BERT: rotary positions, gated feed-forwards, no biases.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kNomicDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "layer_norm_eps": 1e-12,
        "rope_theta": 1e3})";
constexpr FolderType kNomicTypes[] = {{"nomic_bert", kNomicDefaults}};
constexpr KeyRule kNomicKeys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon", ConfigType::number},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", ConfigType::number},
    {"n_positions", "context_length"},
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_head", "attention.head_count"},
    {"n_inner", "feed_forward_length"},
    {"activation_function", "hidden_activation", ConfigType::text},
    {"rotary_emb_base", "rope.freq_base", ConfigType::number},
};
constexpr FixedValue kNomicFixed[] = {
    {"causal", false},
    {"prenorm", false},
    {"parallel_block", false},
    {"use_rms_norm", false},
    {"rotary_emb_interleaved", false},
    {"rotary_emb_fraction", 1.0},
    {"scale_attn_weights", true},
    {"scale_attn_by_inverse_layer_idx", false},
};
constexpr TensorRule kNomicTensors[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"emb_ln", "token_embd_norm"},
    {"encoder.layers.{}.attn.Wqkv", "blk.{}.attn_qkv"},
    {"encoder.layers.{}.attn.out_proj", "blk.{}.attn_output"},
    {"encoder.layers.{}.norm1", "blk.{}.attn_output_norm"},
    {"encoder.layers.{}.mlp.fc11", "blk.{}.ffn_up"},
    {"encoder.layers.{}.mlp.fc12", "blk.{}.ffn_gate"},
    {"encoder.layers.{}.mlp.fc2", "blk.{}.ffn_down"},
    {"encoder.layers.{}.norm2", "blk.{}.layer_output_norm"},
};

}  // namespace

Family nomic_bert_family() {
  return {.architecture = "nomic-bert",
          .model_types = kNomicTypes,
          .places = NormPlaces::around_sum,
          .is_encoder = true,
          .keys = kNomicKeys,
          .tensors = kNomicTensors,
          .fixed = kNomicFixed};
}

}  // namespace hearth::models
