// GLM-4 (0414): norms before and behind both blocks, half of a head turns, gate and up joined.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGlm4Defaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 4096, "intermediate_size": 13696,
        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2,
        "head_dim": 128, "rms_norm_eps": 1.5625e-7, "partial_rotary_factor": 0.5})";
constexpr FolderType kGlm4Types[] = {{.name = "glm4", .defaults = kGlm4Defaults}};
constexpr TensorRule kGlm4Tensors[] = {
    {"model.layers.{}.post_self_attn_layernorm", "blk.{}.post_attention_norm"},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"},
    {"model.layers.{}.post_mlp_layernorm", "blk.{}.post_ffw_norm"},
    {"model.layers.{}.mlp.gate_up_proj", "blk.{}.ffn_up"},
};

}  // namespace

Family glm4_family() {
  return {.architecture = "glm4",
          .model_types = kGlm4Types,
          .places = NormPlaces::both,
          .rope = RopePairs::neighbours,
          .turns_parts = true,
          .tensors = kGlm4Tensors};
}

}  // namespace hearth::models
