// Qwen 3.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3Defaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 22016,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        "head_dim": 128, "rms_norm_eps": 1e-6, "sliding_window": 4096})";
constexpr FolderType kQwen3Types[] = {
    {.name = "qwen3", .defaults = kQwen3Defaults, .has_windows = true}};

}  // namespace

Family qwen3_family() {
  return {.architecture = "qwen3", .model_types = kQwen3Types, .adjust_folder = add_later_windows};
}

}  // namespace hearth::models
