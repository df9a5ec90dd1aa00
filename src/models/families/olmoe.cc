// OLMoE: experts in all layers, norms of all columns of queries and keys.
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kOlmoeDefaults =
    R"({"max_position_embeddings": 4096, "hidden_size": 2048, "intermediate_size": 2048,
        "num_hidden_layers": 16, "num_attention_heads": 16, "rms_norm_eps": 1e-5,
        "num_experts_per_tok": 8, "num_experts": 64, "norm_topk_prob": false})";
constexpr FolderType kOlmoeTypes[] = {{.name = "olmoe", .defaults = kOlmoeDefaults}};
constexpr KeyRule kOlmoeKeys[] = {kClipQkv};

}  // namespace

Family olmoe_family() {
  return {.architecture = "olmoe", .model_types = kOlmoeTypes, .keys = kOlmoeKeys};
}

}  // namespace hearth::models
