// Ministral 3, and the models that Mistral made to see images: queries have a temperature.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kMinistral3Defaults =
    R"({"max_position_embeddings": 262144, "hidden_size": 4096, "intermediate_size": 14336,
        "num_hidden_layers": 34, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "rms_norm_eps": 1e-5, "rope_parameters": {"rope_type": "yarn",
        "rope_theta": 1e6, "factor": 16.0, "original_max_position_embeddings": 16384,
        "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
        "llama_4_scaling_beta": 0.1}})";
// Of a text model whose type the file does not say: Mistral's.
constexpr std::string_view kMistral3Others =
    R"({"max_position_embeddings": 131072, "num_hidden_layers": 32, "head_dim": null,
        "rms_norm_eps": 1e-6, "sliding_window": 4096, "rope_parameters": null})";
constexpr FolderType kMistral3Types[] = {{.name = "ministral3",
                                          .defaults = kMinistral3Defaults,
                                          .has_windows = true,
                                          .has_layer_types = false},
                                         {.name = "mistral3",
                                          .defaults = kMinistral3Defaults,
                                          .others = kMistral3Others,
                                          .has_windows = true,
                                          .has_layer_types = false}};
constexpr std::string_view kScale = "attention.temperature_scale";
constexpr std::string_view kLength = "rope.scaling.original_context_length";
constexpr KeyRule kMistral3Keys[] = {
    {"rope_parameters.llama_4_scaling_beta", kScale, ConfigType::number},
    {"rope_scaling.llama_4_scaling_beta", kScale, ConfigType::number},
    {"rope_parameters.original_max_position_embeddings", kLength},
    {"rope_scaling.original_max_position_embeddings", kLength},
};

}  // namespace

Family mistral3_family() {
  return {.architecture = "mistral3",
          .model_types = kMistral3Types,
          .rope = RopePairs::neighbours,
          .yarn_multiplier = YarnMultiplier::turns,
          .is_permuted = true,
          .keys = kMistral3Keys};
}

}  // namespace hearth::models
