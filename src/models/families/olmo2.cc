// OLMo 2 and 3: norms behind the blocks, and of all columns of queries and keys. OLMo 3 has
// windows.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kOlmo2Defaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-5})";
constexpr std::string_view kOlmo3Defaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-5,
        "sliding_window": 4096, "rope_theta": 5e5})";
constexpr FolderType kOlmo2Types[] = {
    {.name = "olmo2", .defaults = kOlmo2Defaults},
    {.name = "olmo3", .defaults = kOlmo3Defaults, .has_windows = true}};
constexpr TensorRule kOlmo2Tensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
};

}  // namespace

Family olmo2_family() {
  return {.architecture = "olmo2",
          .model_types = kOlmo2Types,
          .places = NormPlaces::after,
          .window_period = 4,
          .scales_windows = false,
          .tensors = kOlmo2Tensors,
          .repeats_output = true};
}

}  // namespace hearth::models
