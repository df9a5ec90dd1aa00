// Phi 1, 1.5 and 2: both blocks of a layer side by side, behind one LayerNorm; biases everywhere,
// of the output too; a part of each head turns.
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kPhiDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 2048, "intermediate_size": 8192,
        "num_hidden_layers": 24, "num_attention_heads": 32, "layer_norm_eps": 1e-5,
        "partial_rotary_factor": 0.5})";
constexpr FolderType kPhiTypes[] = {{.name = "phi", .defaults = kPhiDefaults}};
constexpr KeyRule kPhiKeys[] = {kLayerNormEps};
constexpr TensorRule kPhiTensors[] = {
    {"model.final_layernorm", "output_norm"},
    {"model.layers.{}.self_attn.dense", "blk.{}.attn_output"},
    {"model.layers.{}.mlp.fc1", "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.fc2", "blk.{}.ffn_down"},
};
constexpr FixedValue kPhiFixed[] = {{"qk_layernorm", false}};

}  // namespace

Family phi2_family() {
  return {.architecture = "phi2",
          .model_types = kPhiTypes,
          .activation = Activation::gelu_tanh,
          .turns_parts = true,
          .may_share_norm = true,
          .keys = kPhiKeys,
          .tensors = kPhiTensors,
          .fixed = kPhiFixed,
          .repeats_output = true};
}

}  // namespace hearth::models
