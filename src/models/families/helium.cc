// Helium.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kHeliumDefaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 2560, "intermediate_size": 7040,
        "num_hidden_layers": 24, "num_attention_heads": 20, "num_key_value_heads": 20,
        "head_dim": 128, "rms_norm_eps": 1e-8, "rope_theta": 1e5})";
constexpr FolderType kHeliumTypes[] = {{.name = "helium", .defaults = kHeliumDefaults}};

}  // namespace

Family helium_family() {
  return {.architecture = "helium", .model_types = kHeliumTypes, .rope = RopePairs::neighbours};
}

}  // namespace hearth::models
