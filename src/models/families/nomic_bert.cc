// Nomic's BERT: rotary positions, gated feed-forwards, no biases.
#include "models/families/nomic.h"

namespace hearth::models {
namespace {

constexpr std::string_view kNomicDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "layer_norm_eps": 1e-12,
        "rope_theta": 1e3})";
constexpr FolderType kNomicTypes[] = {{"nomic_bert", kNomicDefaults}};

}  // namespace

Family nomic_bert_family() {
  return {.architecture = "nomic-bert",
          .model_types = kNomicTypes,
          .places = NormPlaces::around_sum,
          .is_encoder = true,
          .keys = kNomicKeys,
          .tensors = kNomicTensors,
          .fixed = kNomicFixed};
}

}  // namespace hearth::models
