// Gemma 3: layers with a window turn positions by a base of their own, and do not scale them.
#include "models/families/gemma.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemma3Defaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 256, "rms_norm_eps": 1e-6, "tie_word_embeddings": true,
        "query_pre_attn_scalar": 256, "sliding_window": 4096, "rope_theta": 1e6,
        "rope_local_base_freq": 1e4})";
constexpr FolderType kGemma3Types[] = {
    {.name = "gemma3_text", .defaults = kGemma3Defaults, .has_windows = true, .has_softcaps = true},
    {.name = "gemma3", .defaults = kGemma3Defaults, .has_windows = true, .has_softcaps = true}};

// Scores are not capped, whatever files say.
void adjust_gemma3(LanguageConfig& config, const Keys& keys, FileKind) {
  scale_wide_layers(config, keys, 62);
  for (LayerConfig& layer : config.layers) layer.attention.softcap = 0;
}

// Models of texts and images do not cap their logits, whatever they say.
void add_gemma3_keys(const JsonObject& config, bool is_text_config, GgufMetadata& metadata) {
  add_gemma_scale(config, is_text_config, metadata);
  if (is_text_config) metadata.erase("gemma3.final_logit_softcapping");
}

}  // namespace

Family gemma3_family() {
  return {.architecture = "gemma3",
          .model_types = kGemma3Types,
          .places = NormPlaces::both,
          .activation = Activation::gelu_tanh,
          .scales_embedding = true,
          .window_period = 6,
          .scales_windows = false,
          .window_base = 10000,
          .adjust = adjust_gemma3,
          .tensors = kGemmaTensors,
          .adjust_folder = add_gemma3_keys};
}

}  // namespace hearth::models
