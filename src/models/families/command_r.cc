// Command R, R+ and Aya: both blocks of a layer side by side, behind one LayerNorm.
#include "models/families/cohere.h"

namespace hearth::models {
namespace {

constexpr std::string_view kCohereDefaults =
    R"({"max_position_embeddings": 8192, "hidden_size": 8192, "intermediate_size": 22528,
        "num_hidden_layers": 40, "num_attention_heads": 64, "layer_norm_eps": 1e-5,
        "logit_scale": 0.0625, "rope_theta": 5e5, "tie_word_embeddings": true})";
constexpr FolderType kCohereTypes[] = {{.name = "cohere", .defaults = kCohereDefaults}};

}  // namespace

Family command_r_family() {
  return {.architecture = "command-r",
          .model_types = kCohereTypes,
          .rope = RopePairs::neighbours,
          .may_share_norm = true,
          .keys = kCohereKeys};
}

}  // namespace hearth::models
