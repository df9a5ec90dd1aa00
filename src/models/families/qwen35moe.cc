// Qwen 3.5 and 3.6 with experts.
#include "models/families/joined_rules.h"
#include "models/families/qwen_delta.h"
#include "models/families/shared_expert.h"

namespace hearth::models {
namespace {

constexpr std::string_view kQwen35MoeDefaults =
    R"({"max_position_embeddings": 32768, "hidden_size": 2048, "num_hidden_layers": 40,
        "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256,
        "rms_norm_eps": 1e-6, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "num_experts_per_tok": 8, "num_experts": 256, "partial_rotary_factor": 0.25})";
constexpr FolderType kQwen35MoeTypes[] = {
    {.name = "qwen3_5_moe_text", .defaults = kQwen35MoeDefaults},
    {.name = "qwen3_5_moe", .defaults = kQwen35MoeDefaults}};
constexpr auto kQwen35MoeTensors =
    joined(kQwenDeltaTensors, kApartDeltaTensors, kSharedExpertTensors);

}  // namespace

Family qwen35moe_family() {
  return {.architecture = "qwen35moe",
          .model_types = kQwen35MoeTypes,
          .feed_forward_norm = "post_attention_norm",
          .turns_parts = true,
          .mixer = Mixer::delta,
          .tiles_values = true,
          .gates_heads = true,
          .is_normalised = true,
          .keys = kQwenDeltaKeys,
          .tensors = kQwen35MoeTensors};
}

}  // namespace hearth::models
