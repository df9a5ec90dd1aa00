// Command R7B and Command A: as Command R, but that three of four layers have windows, and only
// these have positions.
#include "models/families/cohere.h"
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kCohere2Defaults =
    R"({"max_position_embeddings": 8192, "hidden_size": 8192, "intermediate_size": 22528,
        "num_hidden_layers": 40, "num_attention_heads": 64, "layer_norm_eps": 1e-5,
        "logit_scale": 0.0625, "sliding_window": 4096, "tie_word_embeddings": true})";
constexpr FolderType kCohere2Types[] = {
    {.name = "cohere2", .defaults = kCohere2Defaults, .has_windows = true}};

}  // namespace

Family cohere2_family() {
  return {.architecture = "cohere2",
          .model_types = kCohere2Types,
          .rope = RopePairs::neighbours,
          .window_period = 4,
          .may_share_norm = true,
          .adjust = turn_windows_only,
          .keys = kCohereKeys};
}

}  // namespace hearth::models
