// StableLM 2 and 3B: LayerNorm, the first columns of a head turn. Of 12B each head of queries and
// keys has a norm of its own, and one norm stands before both blocks.
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kStablelmDefaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 2560, "intermediate_size": 6912,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.25})";
constexpr FolderType kStablelmTypes[] = {{"stablelm", kStablelmDefaults}};
constexpr KeyRule kStablelmKeys[] = {kLayerNormEps};
constexpr TensorRule kStablelmTensors[] = {
    {"model.layers.{}.self_attn.q_layernorm.norms.{}", "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.k_layernorm.norms.{}", "blk.{}.attn_k_norm"},
};

}  // namespace

Family stablelm_family() {
  return {.architecture = "stablelm",
          .model_types = kStablelmTypes,
          .turns_parts = true,
          .may_share_norm = true,
          .keys = kStablelmKeys,
          .tensors = kStablelmTensors};
}

}  // namespace hearth::models
