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
          .mixer = Mixer::delta,
          .tiles_values = true,
          .gates_heads = true,
          .keys = kQwenDeltaKeys,
          .tensors = kQwenDeltaTensors};
}

}  // namespace hearth::models
