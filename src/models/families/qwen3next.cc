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
          .is_normalised = true,
          .adjust = [](LanguageConfig& config, const Keys& keys,
                       FileKind) { adjust_qwen_delta(config, keys, false); },
          .keys = kQwenDeltaKeys,
          .tensors = kQwenDeltaTensors,
          .adjust_file = say_delta_sizes};
}

}  // namespace hearth::models
