// DeepSeek V2 and V3, Kimi K2, GLM-4.7-Flash: multi-head latent attention; experts by groups, and
// shared ones.
#include <optional>
#include <string>

#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kDeepseekV2Defaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-6,
        "kv_lora_rank": 512, "q_lora_rank": 1536, "n_routed_experts": 64, "n_shared_experts": 2,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "norm_topk_prob": false,
        "v_head_dim": 128, "moe_intermediate_size": 1407})";
constexpr std::string_view kDeepseekV3Defaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 7168, "intermediate_size": 18432,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
        "moe_intermediate_size": 2048, "n_shared_experts": 1, "n_routed_experts": 256,
        "routed_scaling_factor": 2.5, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_rope_head_dim": 64, "v_head_dim": 128, "qk_nope_head_dim": 128, "n_group": 8,
        "topk_group": 4, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
        "norm_topk_prob": true, "rms_norm_eps": 1e-6, "num_nextn_predict_layers": 1})";
constexpr std::string_view kGlm4MoeLiteDefaults =
    R"({"max_position_embeddings": 202752, "hidden_size": 2048, "intermediate_size": 10240,
        "num_hidden_layers": 47, "num_attention_heads": 20, "num_key_value_heads": 20,
        "moe_intermediate_size": 1536, "n_shared_experts": 1, "n_routed_experts": 64,
        "routed_scaling_factor": 1.8, "kv_lora_rank": 512, "q_lora_rank": 768,
        "qk_rope_head_dim": 64, "v_head_dim": 256, "qk_nope_head_dim": 192,
        "num_experts_per_tok": 4, "first_k_dense_replace": 1, "norm_topk_prob": true})";
constexpr FolderType kDeepseekTypes[] = {
    {.name = "deepseek_v2", .defaults = kDeepseekV2Defaults},
    {.name = "deepseek_v3", .defaults = kDeepseekV3Defaults},
    {.name = "kimi_k2", .defaults = kDeepseekV3Defaults},
    {.name = "glm4_moe_lite", .defaults = kGlm4MoeLiteDefaults}};
constexpr FixedValue kDeepseekFixed[] = {{"rope_interleave", true}, {"moe_layer_freq", 1.0}};

void adjust_deepseek(LanguageConfig& config, const Keys&, FileKind) {
  for (LayerConfig& layer : config.layers) {
    layer.experts.best_two_of_group = layer.experts.gate == RouterGate::sigmoid;
  }
}

// V2 scores by softmax, normalises nothing, and has groups by its method only.
void add_deepseek_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  const bool is_v2 = find_text(config, "model_type").value_or("") == "deepseek_v2";
  metadata.set("deepseek2.expert_gating_func", std::uint32_t{is_v2 ? 1u : 2u});
  if (!is_v2) return;
  metadata.set("deepseek2.expert_weights_norm", false);
  const std::optional<std::string> method = find_text(config, "topk_method");
  if (method && *method == "group_limited_greedy") return;
  metadata.erase("deepseek2.expert_group_count");
  metadata.erase("deepseek2.expert_group_used_count");
}

}  // namespace

Family deepseek2_family() {
  return {.architecture = "deepseek2",
          .model_types = kDeepseekTypes,
          .rope = RopePairs::neighbours,
          .yarn_multiplier = YarnMultiplier::scores,
          .mixer = Mixer::latent,
          .adjust = adjust_deepseek,
          .fixed = kDeepseekFixed,
          .adjust_folder = add_deepseek_keys};
}

}  // namespace hearth::models
