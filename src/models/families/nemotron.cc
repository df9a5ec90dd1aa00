// Nemotron 3 and 4, Minitron: LayerNorm whose weights count from 1, a feed-forward without a gate,
// half of a head turns.
#include "models/families/transforms.h"

namespace hearth::models {
namespace {

constexpr std::string_view kNemotronDefaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 32, "num_attention_heads": 48, "norm_eps": 1e-5,
        "partial_rotary_factor": 0.5})";
constexpr FolderType kNemotronTypes[] = {{.name = "nemotron", .defaults = kNemotronDefaults}};
constexpr KeyRule kNemotronKeys[] = {
    {"norm_eps", "attention.layer_norm_epsilon", ConfigType::number}};
constexpr TensorRule kNemotronTensors[] = {
    {"model.norm.weight", "output_norm.weight", plus_one},
    {"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight", plus_one},
    {"model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight", plus_one},
};

}  // namespace

Family nemotron_family() {
  return {.architecture = "nemotron",
          .model_types = kNemotronTypes,
          .activation = Activation::squared_relu,
          .turns_parts = true,
          .keys = kNemotronKeys,
          .tensors = kNemotronTensors,
          .repeats_output = true};
}

}  // namespace hearth::models
