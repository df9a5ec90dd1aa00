// Qwen 3 with experts.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3MoeDefaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 2048, "intermediate_size": 6144,
        "num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4,
        "rms_norm_eps": 1e-6, "sliding_window": 4096, "moe_intermediate_size": 768,
        "num_experts_per_tok": 8, "num_experts": 128, "norm_topk_prob": false})";
constexpr FolderType kQwen3MoeTypes[] = {{.name = "qwen3_moe",
                                          .defaults = kQwen3MoeDefaults,
                                          .has_windows = true,
                                          .has_layer_types = false}};

void add_all_windows(const JsonObject& config, bool, GgufMetadata& metadata) {
  add_window_layers(config, metadata, [](std::int64_t) { return true; });
}

}  // namespace

Family qwen3moe_family() {
  return {.architecture = "qwen3moe",
          .model_types = kQwen3MoeTypes,
          .is_normalised = true,
          .adjust_folder = add_all_windows};
}

}  // namespace hearth::models
