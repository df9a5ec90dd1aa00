// Granite 3.
#include "models/families/granite.h"

namespace hearth::models {
namespace {

constexpr std::string_view kGraniteDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-6,
        "attention_multiplier": 1.0})";
constexpr FolderType kGraniteTypes[] = {{.name = "granite", .defaults = kGraniteDefaults}};

}  // namespace

Family granite_family() {
  return {.architecture = "granite",
          .model_types = kGraniteTypes,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .adjust = invert_logit_scale,
          .keys = kGraniteKeys};
}

}  // namespace hearth::models
