// Gemma.
#include <string>

#include "models/families/transforms.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemmaDefaults =
    R"({"max_position_embeddings": 8192, "hidden_size": 3072, "intermediate_size": 24576,
        "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
        "head_dim": 256, "rms_norm_eps": 1e-6, "tie_word_embeddings": true})";
constexpr TensorRule kGemma1Tensors[] = {
    {"model.norm", "output_norm", plus_one},
    {"model.layers.{}.input_layernorm", "blk.{}.attn_norm", plus_one},
    {"model.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm", plus_one},
};
constexpr FolderType kGemmaTypes[] = {{.name = "gemma", .defaults = kGemmaDefaults}};

// What files call "gelu" is the approximation by tanh.
void add_gemma_activation(const JsonObject& config, bool, GgufMetadata& metadata) {
  if (find_text(config, "hidden_act").value_or("") != "gelu") return;
  metadata.set("gemma.hidden_activation", std::string("gelu_pytorch_tanh"));
}

}  // namespace

Family gemma_family() {
  return {.architecture = "gemma",
          .model_types = kGemmaTypes,
          .activation = Activation::gelu_tanh,
          .scales_embedding = true,
          .tensors = kGemma1Tensors,
          .adjust_folder = add_gemma_activation};
}

}  // namespace hearth::models
