// Qwen 3-Next.
#include "models/families/joined_rules.h"
#include "models/families/qwen_delta.h"
#include "models/families/shared_expert.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen3NextDefaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
        "head_dim": 256, "rms_norm_eps": 1e-6, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 16,
        "linear_num_value_heads": 32, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "num_experts_per_tok": 10, "num_experts": 512,
        "norm_topk_prob": true, "partial_rotary_factor": 0.25})";
constexpr FolderType kQwen3NextTypes[] = {{.name = "qwen3_next", .defaults = kQwen3NextDefaults}};
constexpr auto kQwen3NextTensors =
    joined(kQwenDeltaTensors, kMixedDeltaTensors, kSharedExpertTensors);

}  // namespace

Family qwen3next_family() {
  return {.architecture = "qwen3next",
          .model_types = kQwen3NextTypes,
          .feed_forward_norm = "post_attention_norm",
          .turns_parts = true,
          .mixer = Mixer::delta,
          .gates_heads = true,
          .is_normalised = true,
          .keys = kQwenDeltaKeys,
          .tensors = kQwen3NextTensors};
}

}  // namespace hearth::models
