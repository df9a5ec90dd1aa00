// Llama 2 and 3, Mistral, Mixtral (files of llama.cpp call all of them "llama").
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kLlamaTypes[] = {"llama", "mistral", "mixtral"};
constexpr TensorRule kLlamaTensors[] = {
    {"model.layers.{}.block_sparse_moe.gate", "blk.{}.ffn_gate_inp"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w1", "blk.{}.ffn_gate_exps"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w2", "blk.{}.ffn_down_exps"},
    {"model.layers.{}.block_sparse_moe.experts.{}.w3", "blk.{}.ffn_up_exps"},
};

}  // namespace

Family llama_family() {
  return {.architecture = "llama",
          .model_types = kLlamaTypes,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .is_normalised = true,
          .tensors = kLlamaTensors};
}

}  // namespace hearth::models
