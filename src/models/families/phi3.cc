// Phi 3, 3.5 and 4: joined projections, factors for positions beyond the original context.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kPhi3Defaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 3072, "intermediate_size": 8192,
        "num_hidden_layers": 32, "num_attention_heads": 32,
        "original_max_position_embeddings": 4096, "rms_norm_eps": 1e-5})";
constexpr FolderType kPhi3Types[] = {
    {.name = "phi3", .defaults = kPhi3Defaults, .has_windows = true, .has_layer_types = false}};
constexpr TensorRule kPhi3Tensors[] = {
    {"model.layers.{}.self_attn.qkv_proj", "blk.{}.attn_qkv"},
    {"model.layers.{}.mlp.gate_up_proj", "blk.{}.ffn_up"},
};

}  // namespace

Family phi3_family() {
  return {.architecture = "phi3",
          .model_types = kPhi3Types,
          .turns_parts = true,
          .window_period = 0,
          .tensors = kPhi3Tensors};
}

}  // namespace hearth::models
