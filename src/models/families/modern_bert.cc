// ModernBERT (GTE, Nomic and Granite): encoders with norms before blocks, rotary positions, and in
// two layers of three windows to both sides.
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kModernBertDefaults =
    R"({"max_position_embeddings": 8192, "hidden_size": 768, "intermediate_size": 1152,
        "num_hidden_layers": 22, "num_attention_heads": 12, "norm_eps": 1e-5,
        "local_attention": 128, "global_attn_every_n_layers": 3, "global_rope_theta": 160000,
        "local_rope_theta": 10000})";
constexpr FolderType kModernBertTypes[] = {{"modernbert", kModernBertDefaults}};
constexpr KeyRule kModernBertKeys[] = {
    {"norm_eps", "attention.layer_norm_epsilon", ConfigType::number},
    {"local_attention", "attention.sliding_window"},
    {"global_attn_every_n_layers", "attention.sliding_window_pattern"},
    {"global_rope_theta", "rope.freq_base", ConfigType::number},
    {"local_rope_theta", "rope.freq_base_swa", ConfigType::number},
};
constexpr FixedValue kModernBertFixed[] = {
    {"rope_scaling.rope_type", "default"},
    {"rope_scaling.type", "default"},
};
constexpr TensorRule kModernBertTensors[] = {
    {"embeddings.tok_embeddings", "token_embd"},
    {"embeddings.norm", "token_embd_norm"},
    {"model.embeddings.tok_embeddings", "token_embd"},
    {"model.embeddings.norm", "token_embd_norm"},
    {"model.layers.{}.attn_norm", "blk.{}.attn_norm"},
    {"model.layers.{}.attn.Wqkv", "blk.{}.attn_qkv"},
    {"model.layers.{}.attn.Wo", "blk.{}.attn_output"},
    {"model.layers.{}.mlp_norm", "blk.{}.ffn_norm"},
    {"model.layers.{}.mlp.Wi", "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.Wo", "blk.{}.ffn_down"},
    {"final_norm", "output_norm"},
    {"model.final_norm", "output_norm"},
    {"head", ""},
    {"decoder", ""},
};

}  // namespace

Family modern_bert_family() {
  return {.architecture = "modern-bert",
          .model_types = kModernBertTypes,
          .norms_first_mixer = false,
          .activation = Activation::gelu,
          .is_encoder = true,
          .window_period = 3,
          .sees_all_first = true,
          .scales_windows = false,
          .window_base = 10000,
          .keys = kModernBertKeys,
          .tensors = kModernBertTensors,
          .fixed = kModernBertFixed};
}

}  // namespace hearth::models
