// Qwen 3.5 and 3.6 with experts.
#include "models/families/qwen_delta.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen35MoeTypes[] = {"qwen3_5_moe_text", "qwen3_5_moe"};

}  // namespace

Family qwen35moe_family() {
  return {.architecture = "qwen35moe",
          .model_types = kQwen35MoeTypes,
          .feed_forward_norm = "post_attention_norm",
          .is_normalised = true,
          .adjust = [](LanguageConfig& config, const Keys& keys,
                       FileKind kind) { adjust_qwen_delta(config, keys, kind == FileKind::gguf); },
          .keys = kQwenDeltaKeys,
          .tensors = kQwenDeltaTensors,
          .adjust_file = tile_value_heads};
}

}  // namespace hearth::models
