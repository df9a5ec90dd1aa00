// StarCoder 2: LayerNorm, biases everywhere, a feed-forward without a gate.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kStarcoder2Types[] = {"starcoder2"};
constexpr KeyRule kStarcoder2Keys[] = {{"norm_epsilon", "attention.layer_norm_epsilon"}};
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
