// Qwen 2 with experts: one that all rows share, weights of the others as they come.
#include "models/families/shared_expert.h"
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen2MoeDefaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16,
        "rms_norm_eps": 1e-6, "sliding_window": 4096, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632, "num_experts_per_tok": 4, "num_experts": 60,
        "norm_topk_prob": false})";
constexpr FolderType kQwen2MoeTypes[] = {
    {.name = "qwen2_moe", .defaults = kQwen2MoeDefaults, .has_windows = true}};

// Every other one of the first layers.
void add_even_windows(const JsonObject& config, bool, GgufMetadata& metadata) {
  const std::int64_t count = find_integer(config, "max_window_layers").value_or(28);
  add_window_layers(config, metadata, [&](std::int64_t i) { return i % 2 == 0 && i < count; });
}

}  // namespace

Family qwen2moe_family() {
  return {.architecture = "qwen2moe",
          .model_types = kQwen2MoeTypes,
          .tensors = kSharedExpertTensors,
          .adjust_folder = add_even_windows,
          .repeats_output = true};
}

}  // namespace hearth::models
