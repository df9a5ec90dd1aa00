// GLM-4.5, 4.6 and 4.7: half of a head turns; experts chosen by sigmoids and a bias, behind the
// first layers, beside shared ones.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGlm4MoeDefaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 4096, "intermediate_size": 10944,
        "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-5, "partial_rotary_factor": 0.5, "moe_intermediate_size": 1408,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "n_routed_experts": 128,
        "first_k_dense_replace": 1, "norm_topk_prob": true, "num_nextn_predict_layers": 1})";
constexpr FolderType kGlm4MoeTypes[] = {{.name = "glm4_moe", .defaults = kGlm4MoeDefaults}};
constexpr TensorRule kGlm4MoeTensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
};

}  // namespace

Family glm4moe_family() {
  return {.architecture = "glm4moe",
          .model_types = kGlm4MoeTypes,
          .feed_forward_norm = "post_attention_norm",
          .turns_parts = true,
          .is_normalised = true,
          .router = RouterGate::sigmoid,
          .tensors = kGlm4MoeTensors};
}

}  // namespace hearth::models
