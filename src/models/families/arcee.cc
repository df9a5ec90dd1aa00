// Arcee: a feed-forward without a gate.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kArceeDefaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 2560, "intermediate_size": 18432,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-5})";
constexpr FolderType kArceeTypes[] = {{.name = "arcee", .defaults = kArceeDefaults}};

}  // namespace

Family arcee_family() {
  return {.architecture = "arcee",
          .model_types = kArceeTypes,
          .activation = Activation::squared_relu,
          .rope = RopePairs::neighbours,
          .is_permuted = true};
}

}  // namespace hearth::models
