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
          .mixer = Mixer::delta,
          .tiles_values = true,
          .gates_heads = true,
          .is_normalised = true,
          .keys = kQwenDeltaKeys,
          .tensors = kQwenDeltaTensors};
}

}  // namespace hearth::models
