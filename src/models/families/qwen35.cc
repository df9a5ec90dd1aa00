// Qwen 3.5 and 3.6; in GGUF files heads of values are dealt out to those of keys in turn.
#include "models/families/joined_rules.h"
#include "models/families/qwen_delta.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen35Defaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 4096, "intermediate_size": 12288,
        "num_hidden_layers": 32, "num_attention_heads": 16, "num_key_value_heads": 4,
        "head_dim": 256, "rms_norm_eps": 1e-6, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "partial_rotary_factor": 0.25})";
constexpr FolderType kQwen35Types[] = {{.name = "qwen3_5_text", .defaults = kQwen35Defaults},
                                       {.name = "qwen3_5", .defaults = kQwen35Defaults}};
constexpr auto kQwen35Tensors = joined(kQwenDeltaTensors, kApartDeltaTensors);

}  // namespace

Family qwen35_family() {
  return {.architecture = "qwen35",
          .model_types = kQwen35Types,
          .feed_forward_norm = "post_attention_norm",
          .turns_parts = true,
          .mixer = Mixer::delta,
          .tiles_values = true,
          .gates_heads = true,
          .keys = kQwenDeltaKeys,
          .tensors = kQwen35Tensors};
}

}  // namespace hearth::models
