// dots.llm1: norms of each head; experts chosen by sigmoids and a bias, behind the first layers,
// beside shared ones.
#include "models/families/window_layers.h"

namespace hearth::models {
namespace {

constexpr std::string_view kDots1Defaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4608, "intermediate_size": 10944,
        "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 32,
        "rms_norm_eps": 1e-6, "moe_intermediate_size": 1408, "norm_topk_prob": false,
        "sliding_window": 4096})";
constexpr FolderType kDots1Types[] = {
    {.name = "dots1", .defaults = kDots1Defaults, .has_windows = true}};

void add_dots1_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  metadata.set("dots1.expert_gating_func", static_cast<std::uint32_t>(RouterGate::sigmoid));
  const bool any = find_value(config, "sliding_window") != nullptr;
  const std::int64_t first = find_integer(config, "max_window_layers").value_or(62);
  set_window_layers(config, metadata, [&](std::int64_t i) { return any && i >= first; });
}

}  // namespace

Family dots1_family() {
  return {.architecture = "dots1",
          .model_types = kDots1Types,
          .router = RouterGate::sigmoid,
          .adjust_folder = add_dots1_keys,
          .repeats_output = true};
}

}  // namespace hearth::models
