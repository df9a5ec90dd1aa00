// GPT-NeoX and Pythia: both blocks of a layer side by side.
#include "hearth/ops.h"
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kNeoXDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 6144, "intermediate_size": 24576,
        "num_hidden_layers": 44, "num_attention_heads": 64, "layer_norm_eps": 1e-5,
        "use_parallel_residual": true, "partial_rotary_factor": 0.25})";
constexpr FolderType kNeoXTypes[] = {{"gpt_neox", kNeoXDefaults}};
constexpr KeyRule kNeoXKeys[] = {
    kLayerNormEps,
    {"use_parallel_residual", "use_parallel_residual", ConfigType::flag},
    {"rotary_emb_base", "rope.freq_base", ConfigType::number},
};

// Folders hold queries, keys and values by head.
Array by_kind(const Array& x, const FolderContext& context) {
  const std::int64_t heads = context.count("attention.head_count");
  const std::int64_t dim = x.shape(0) / (3 * heads);
  Shape apart = x.shape();
  apart[0] = dim;
  apart.insert(0, 3);
  apart.insert(0, heads);
  return reshape(swap_axes(reshape(x, apart), 0, 1), x.shape());
}

constexpr TensorRule kNeoXTensors[] = {
    {"gpt_neox.embed_in", "token_embd"},
    {"gpt_neox.final_layer_norm", "output_norm"},
    {"embed_out", "output"},
    {"gpt_neox.layers.{}.input_layernorm", "blk.{}.attn_norm"},
    {"gpt_neox.layers.{}.attention.query_key_value", "blk.{}.attn_qkv", by_kind},
    {"gpt_neox.layers.{}.attention.dense", "blk.{}.attn_output"},
    {"gpt_neox.layers.{}.attention.bias", ""},  // masks
    {"gpt_neox.layers.{}.attention.masked_bias", ""},
    {"gpt_neox.layers.{}.attention.rotary_emb", ""},
    {"gpt_neox.layers.{}.post_attention_layernorm", "blk.{}.ffn_norm"},
    {"gpt_neox.layers.{}.mlp.dense_h_to_4h", "blk.{}.ffn_up"},
    {"gpt_neox.layers.{}.mlp.dense_4h_to_h", "blk.{}.ffn_down"},
};

}  // namespace

Family gptneox_family() {
  return {.architecture = "gptneox",
          .model_types = kNeoXTypes,
          .activation = Activation::gelu,
          .turns_parts = true,
          .keys = kNeoXKeys,
          .tensors = kNeoXTensors,
          .repeats_output = true};
}

}  // namespace hearth::models
