// StarCoder 2: LayerNorm, biases everywhere, a feed-forward without a gate.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kStarcoder2Defaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 3072, "intermediate_size": 12288,
        "num_hidden_layers": 30, "num_attention_heads": 24, "num_key_value_heads": 2,
        "norm_epsilon": 1e-5, "tie_word_embeddings": true})";
constexpr FolderType kStarcoder2Types[] = {{.name = "starcoder2",
                                            .defaults = kStarcoder2Defaults,
                                            .has_windows = true,
                                            .has_layer_types = false}};
constexpr KeyRule kStarcoder2Keys[] = {
    {"norm_epsilon", "attention.layer_norm_epsilon", ConfigType::number}};
constexpr TensorRule kStarcoder2Tensors[] = {
    {"model.layers.{}.mlp.c_fc", "blk.{}.ffn_up"},
    {"model.layers.{}.mlp.c_proj", "blk.{}.ffn_down"},
};

}  // namespace

Family starcoder2_family() {
  return {.architecture = "starcoder2",
          .model_types = kStarcoder2Types,
          .activation = Activation::gelu_tanh,
          .keys = kStarcoder2Keys,
          .tensors = kStarcoder2Tensors};
}

}  // namespace hearth::models
