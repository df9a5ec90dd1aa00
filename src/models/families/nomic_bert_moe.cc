// Nomic's BERT with experts (v2): no gates, biases, experts in every few layers, weights of the
// chosen as they come.
#include "models/families/nomic.h"

namespace hearth::models {
namespace {

// Of nomic-embed-text-v2-moe: transformers has no such class.
constexpr std::string_view kNomicMoeDefaults =
    R"({"n_positions": 2048, "n_embd": 768, "n_inner": 3072, "n_layer": 12, "n_head": 12,
        "layer_norm_epsilon": 1e-5, "rotary_emb_base": 1e4, "num_experts": 8, "moe_top_k": 2})";
constexpr FolderType kNomicMoeTypes[] = {
    {.name = "nomic_bert", .defaults = kNomicMoeDefaults, .mark = "moe_every_n_layers"}};

}  // namespace

Family nomic_bert_moe_family() {
  return {.architecture = "nomic-bert-moe",
          .model_types = kNomicMoeTypes,
          .places = NormPlaces::around_sum,
          .activation = Activation::gelu,
          .is_encoder = true,
          .keys = kNomicKeys,
          .tensors = kNomicTensors,
          .fixed = kNomicFixed};
}

}  // namespace hearth::models
