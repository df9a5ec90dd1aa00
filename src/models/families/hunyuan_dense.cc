// Hunyuan: norms of queries and keys behind positions.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kHunyuanDefaults =
    R"({"max_position_embeddings": 2048, "hidden_size": 4096, "intermediate_size": 11008,
        "num_hidden_layers": 32, "num_attention_heads": 32, "rms_norm_eps": 1e-5})";
constexpr FolderType kHunyuanTypes[] = {{.name = "hunyuan_v1_dense", .defaults = kHunyuanDefaults}};
constexpr TensorRule kHunyuanTensors[] = {
    {"model.layers.{}.self_attn.query_layernorm", "blk.{}.attn_q_norm"},
    {"model.layers.{}.self_attn.key_layernorm", "blk.{}.attn_k_norm"},
};

}  // namespace

Family hunyuan_dense_family() {
  return {.architecture = "hunyuan-dense",
          .model_types = kHunyuanTypes,
          .norms_turned = true,
          .tensors = kHunyuanTensors};
}

}  // namespace hearth::models
