// ERNIE 4.5 with experts, chosen by a softmax and a bias, beside shared ones.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "models/language/family.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kErnieMoeDefaults =
    R"({"max_position_embeddings": 131072, "hidden_size": 2560, "intermediate_size": 12288,
        "num_hidden_layers": 28, "num_attention_heads": 20, "num_key_value_heads": 4,
        "rms_norm_eps": 1e-5, "rope_theta": 5e5, "tie_word_embeddings": true,
        "moe_intermediate_size": 1536, "moe_k": 6, "moe_num_experts": 64,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": -1,
        "moe_layer_interval": 1})";
constexpr FolderType kErnieMoeTypes[] = {{.name = "ernie4_5_moe", .defaults = kErnieMoeDefaults}};
constexpr KeyRule kErnieMoeKeys[] = {
    {"moe_num_experts", "expert_count"},
    {"moe_k", "expert_used_count"},
    {"moe_layer_start_index", "leading_dense_block_count"},
    {"moe_layer_interval", "interleave_moe_layer_step"},
};

Array flat_bias(const Array& x, const FolderContext&) { return reshape(x, {x.size()}); }

constexpr TensorRule kErnieMoeTensors[] = {
    {"model.layers.{}.mlp.moe_statics.e_score_correction_bias", "blk.{}.exp_probs_b.bias",
     flat_bias},
};

void add_ernie_experts(const JsonObject& config, bool, GgufMetadata& metadata) {
  const std::string prefix = "ernie4_5-moe.";
  const std::int64_t shared = find_count(config, "moe_num_shared_experts").value_or(0);
  const std::int64_t width = find_count(config, "moe_intermediate_size").value_or(0);
  set_count(metadata, prefix + "expert_shared_feed_forward_length", shared * width);
  const std::int64_t step = find_integer(config, "moe_layer_interval").value_or(1);
  const std::int64_t last = find_integer(config, "moe_layer_end_index").value_or(-1);
  if (step < 2 && last < 0) return;
  std::vector<bool> flags;
  for (std::int64_t i = 0; i < layers_of(config); ++i) {
    flags.push_back((i + 1) % std::max<std::int64_t>(step, 1) == 0 && (last < 0 || i <= last));
  }
  metadata.set(prefix + "expert_layers", flags);
}

}  // namespace

Family ernie4_5_moe_family() {
  return {.architecture = "ernie4_5-moe",
          .model_types = kErnieMoeTypes,
          .rope = RopePairs::neighbours,
          .is_normalised = true,
          .keys = kErnieMoeKeys,
          .tensors = kErnieMoeTensors,
          .adjust_folder = add_ernie_experts};
}

}  // namespace hearth::models
