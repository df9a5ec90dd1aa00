// Nomic's BERT: rotary positions, gated feed-forwards, no biases.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kNomicTypes[] = {"nomic_bert"};
constexpr KeyRule kNomicKeys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon"},
    {"n_positions", "context_length"},
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_head", "attention.head_count"},
    {"n_inner", "feed_forward_length"},
    {"rotary_emb_base", "rope.freq_base"},
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
          .tensors = kNomicTensors};
}

}  // namespace hearth::models
