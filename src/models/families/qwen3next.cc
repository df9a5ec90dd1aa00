// Qwen 3-Next.
#include "models/families/qwen_delta.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3NextTypes[] = {"qwen3_next"};

}  // namespace

Family qwen3next_family() {
  return {.architecture = "qwen3next",
          .model_types = kQwen3NextTypes,
          .feed_forward_norm = "post_attention_norm",
          .mixer = Mixer::delta,
          .gates_heads = true,
          .is_normalised = true,
          .keys = kQwenDeltaKeys,
          .tensors = kQwenDeltaTensors};
}

}  // namespace hearth::models
