// Qwen 3.5 and 3.6; in GGUF files heads of values are dealt out to those of keys in turn.
#include "models/families/qwen_delta.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen35Types[] = {"qwen3_5_text", "qwen3_5"};

}  // namespace

Family qwen35_family() {
  return {.architecture = "qwen35",
          .model_types = kQwen35Types,
          .feed_forward_norm = "post_attention_norm",
          .adjust = [](LanguageConfig& config, const Keys& keys,
                       FileKind kind) { adjust_qwen_delta(config, keys, kind == FileKind::gguf); },
          .keys = kQwenDeltaKeys,
          .tensors = kQwenDeltaTensors,
          .adjust_file = tile_value_heads};
}

}  // namespace hearth::models
