// Llama 2 and 3, Mistral, Ministral, Mixtral, InternLM 3 (files of llama.cpp call all of them
// "llama").
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kLlamaDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-6})";
constexpr std::string_view kMistralDefaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-6, "sliding_window": 4096})";
constexpr std::string_view kMixtralDefaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-5, "num_experts_per_tok": 2, "num_local_experts": 8, "rope_theta": 1e6})";
constexpr std::string_view kInternLm3Defaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 10240,
        "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 2,
        "head_dim": 128, "rms_norm_eps": 1e-5})";
constexpr FolderType kLlamaTypes[] = {
    {.name = "llama", .defaults = kLlamaDefaults},
    {.name = "internlm3", .defaults = kInternLm3Defaults},
    {.name = "mistral", .defaults = kMistralDefaults, .has_windows = true},
    {.name = "ministral", .defaults = kMistralDefaults, .has_windows = true},
    {.name = "mixtral",
     .defaults = kMixtralDefaults,
     .has_windows = true,
     .has_layer_types = false}};
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
          .tensors = kLlamaTensors,
          .few_values = FewValues::where_shared};
}

}  // namespace hearth::models
