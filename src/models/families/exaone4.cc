// EXAONE 4: norms behind the blocks, and of each head. Models with windows have no positions in the
// layers that see all keys.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kExaone4Defaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 16384,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
        "rms_norm_eps": 1e-5, "sliding_window": 4096})";
constexpr FolderType kExaone4Types[] = {
    {.name = "exaone4", .defaults = kExaone4Defaults, .has_windows = true}};
constexpr TensorRule kExaone4Tensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
};

void turn_beside_windows(LanguageConfig& config, const Keys& keys, FileKind kind) {
  if (keys.size("attention.sliding_window", 0) != 0) turn_windows_only(config, keys, kind);
}

}  // namespace

Family exaone4_family() {
  return {.architecture = "exaone4",
          .model_types = kExaone4Types,
          .places = NormPlaces::after,
          .window_period = 4,
          .adjust = turn_beside_windows,
          .tensors = kExaone4Tensors};
}

}  // namespace hearth::models
