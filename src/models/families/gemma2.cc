// Gemma 2.
#include "models/families/gemma.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGemma2Defaults =
    R"({"max_position_embeddings": 8192, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
        "head_dim": 256, "rms_norm_eps": 1e-6, "tie_word_embeddings": true,
        "query_pre_attn_scalar": 256, "sliding_window": 4096, "final_logit_softcapping": 30.0,
        "attn_logit_softcapping": 50.0})";
constexpr FolderType kGemma2Types[] = {
    {.name = "gemma2", .defaults = kGemma2Defaults, .has_windows = true, .has_softcaps = true}};

}  // namespace

Family gemma2_family() {
  return {.architecture = "gemma2",
          .model_types = kGemma2Types,
          .places = NormPlaces::both,
          .activation = Activation::gelu_tanh,
          .scales_embedding = true,
          .window_period = 2,
          .adjust = [](LanguageConfig& config, const Keys& keys,
                       FileKind) { scale_wide_layers(config, keys, 46); },
          .tensors = kGemmaTensors,
          .adjust_folder = add_gemma_scale};
}

}  // namespace hearth::models
