// DeepSeek V2 and V3, Kimi K2: multi-head latent attention; experts by groups, and shared ones.
#include <optional>
#include <string>

#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kDeepseekTypes[] = {"deepseek_v2", "deepseek_v3", "kimi_k2"};

void adjust_deepseek(LanguageConfig& config, const Keys&, FileKind) {
  for (LayerConfig& layer : config.layers) {
    layer.experts.best_two_of_group = layer.experts.gate == RouterGate::sigmoid;
  }
}

// V2 scores by softmax, normalises nothing, and has groups by its method only.
void add_deepseek_keys(const JsonObject& config, const JsonObject&, GgufMetadata& metadata) {
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
          .adjust = adjust_deepseek,
          .adjust_folder = add_deepseek_keys};
}

}  // namespace hearth::models
