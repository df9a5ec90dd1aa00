// SmolLM 3: Llama, but that every fourth layer has no positions.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kSmolLm3Types[] = {"smollm3"};

void drop_positions(LanguageConfig& config, const Keys&, FileKind) {
  for (std::size_t i = 3; i < config.layers.size(); i += 4) {
    config.layers[i].attention.rope.pairs = RopePairs::none;
  }
}

}  // namespace

Family smollm3_family() {
  return {.architecture = "smollm3",
          .model_types = kSmolLm3Types,
          .rope = RopePairs::neighbours,
          .is_permuted = true,
          .adjust = drop_positions};
}

}  // namespace hearth::models
