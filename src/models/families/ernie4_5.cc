// ERNIE 4.5.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kErnieDefaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 1024, "intermediate_size": 3072,
        "num_hidden_layers": 18, "num_attention_heads": 16, "num_key_value_heads": 2,
        "head_dim": 128, "rms_norm_eps": 1e-5, "rope_theta": 5e5, "tie_word_embeddings": true})";
constexpr FolderType kErnieTypes[] = {{.name = "ernie4_5", .defaults = kErnieDefaults}};

}  // namespace

Family ernie4_5_family() {
  return {.architecture = "ernie4_5", .model_types = kErnieTypes, .rope = RopePairs::neighbours};
}

}  // namespace hearth::models
