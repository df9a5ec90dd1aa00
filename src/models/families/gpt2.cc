// GPT-2: learned positions, LayerNorm, biases.
#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGpt2Defaults =
    R"({"n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12,
        "layer_norm_epsilon": 1e-5, "tie_word_embeddings": true})";
constexpr FolderType kGpt2Types[] = {{"gpt2", kGpt2Defaults}};
constexpr KeyRule kGpt2Keys[] = {
    {"n_positions", "context_length"},
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_head", "attention.head_count"},
    {"activation_function", "hidden_activation", ConfigType::text},
    {"scale_attn_by_inverse_layer_idx", "attention.scale_by_layer", ConfigType::flag},
    {"n_inner", "feed_forward_length"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", ConfigType::number},
};

constexpr TensorRule kGpt2Tensors[] = {
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.ln_f", "output_norm"},
    {"transformer.h.{}.ln_1", "blk.{}.attn_norm"},
    {"transformer.h.{}.attn.c_attn", "blk.{}.attn_qkv", nullptr, true},
    {"transformer.h.{}.attn.c_proj", "blk.{}.attn_output", nullptr, true},
    {"transformer.h.{}.attn.bias", ""},  // masks
    {"transformer.h.{}.attn.masked_bias", ""},
    {"transformer.h.{}.ln_2", "blk.{}.ffn_norm"},
    {"transformer.h.{}.mlp.c_fc", "blk.{}.ffn_up", nullptr, true},
    {"transformer.h.{}.mlp.c_proj", "blk.{}.ffn_down", nullptr, true},
};

// Of some models the scores of layer i are divided by i + 1, too.
void adjust_gpt2(LanguageConfig& config, const Keys& keys, FileKind) {
  if (!keys.flag("attention.scale_by_layer", false)) return;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].attention.scale /= static_cast<double>(i + 1);
  }
}

void add_gpt2_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  if (!find_flag(config, "scale_attn_weights").value_or(true)) {
    metadata.set("gpt2.attention.scale", 1.0);
  }
  if (metadata.contains("gpt2.feed_forward_length")) return;
  set_count(metadata, "gpt2.feed_forward_length", 4 * metadata.as_int("gpt2.embedding_length"));
}

}  // namespace

Family gpt2_family() {
  return {.architecture = "gpt2",
          .model_types = kGpt2Types,
          .activation = Activation::gelu_tanh,
          .rope = RopePairs::none,
          .adjust = adjust_gpt2,
          .keys = kGpt2Keys,
          .tensors = kGpt2Tensors,
          .adjust_folder = add_gpt2_keys};
}

}  // namespace hearth::models
