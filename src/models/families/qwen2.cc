// Qwen 2 and 2.5.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen2Defaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 22016,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        "rms_norm_eps": 1e-6, "sliding_window": 4096})";
constexpr FolderType kQwen2Types[] = {
    {.name = "qwen2", .defaults = kQwen2Defaults, .has_windows = true}};

}  // namespace

Family qwen2_family() {
  return {.architecture = "qwen2",
          .model_types = kQwen2Types,
          .adjust_folder = add_later_windows,
          .few_values = FewValues::always};
}

}  // namespace hearth::models
