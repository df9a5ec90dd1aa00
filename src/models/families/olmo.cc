// OLMo: LayerNorm without weights.
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kOlmoDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32})";
constexpr FolderType kOlmoTypes[] = {{.name = "olmo", .defaults = kOlmoDefaults}};
constexpr KeyRule kOlmoKeys[] = {kClipQkv};

void add_epsilon(const JsonObject&, bool, GgufMetadata& metadata) {
  metadata.set("olmo.attention.layer_norm_epsilon", 1e-5);
}

}  // namespace

Family olmo_family() {
  return {.architecture = "olmo",
          .model_types = kOlmoTypes,
          .has_norm_weights = false,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .keys = kOlmoKeys,
          .adjust_folder = add_epsilon};
}

}  // namespace hearth::models
