// Seed-OSS.
#include "models/language/family.h"

namespace hearth::models {
namespace {

constexpr std::string_view kSeedOssDefaults =
    R"({"max_position_embeddings": 524288, "hidden_size": 4096, "intermediate_size": 27648,
        "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8,
        "head_dim": 128, "rms_norm_eps": 1e-6})";
constexpr FolderType kSeedOssTypes[] = {{.name = "seed_oss", .defaults = kSeedOssDefaults}};
constexpr TensorRule kSeedOssTensors[] = {
    {"model.layers.{}.post_attention_layernorm", "blk.{}.post_attention_norm"},
};

}  // namespace

Family seed_oss_family() {
  return {.architecture = "seed_oss",
          .model_types = kSeedOssTypes,
          .feed_forward_norm = "post_attention_norm",
          .tensors = kSeedOssTensors};
}

}  // namespace hearth::models
