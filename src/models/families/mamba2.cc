// Mamba 2: a scan in each layer, no attention and no feed-forward.
#include <cmath>

#include "models/families/transforms.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kMamba2Defaults =
    R"({"hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128, "state_size": 128,
        "layer_norm_epsilon": 1e-5, "conv_kernel": 4, "n_groups": 8})";
constexpr FolderType kMamba2Types[] = {{"mamba2", kMamba2Defaults}};
constexpr KeyRule kMamba2Keys[] = {
    {"conv_kernel", "ssm.conv_kernel"},
    {"state_size", "ssm.state_size"},
    {"num_heads", "ssm.time_step_rank"},
    {"n_groups", "ssm.group_count"},
    {"layer_norm_epsilon", "attention.layer_norm_rms_epsilon", ConfigType::number},
};

constexpr TensorRule kMamba2Tensors[] = {
    {"backbone.embeddings", "token_embd"},
    {"backbone.norm_f", "output_norm"},
    {"backbone.layers.{}.norm", "blk.{}.attn_norm"},
    {"backbone.layers.{}.mixer.in_proj", "blk.{}.ssm_in"},
    {"backbone.layers.{}.mixer.conv1d", "blk.{}.ssm_conv1d", flat_kernel},
    {"backbone.layers.{}.mixer.dt_bias", "blk.{}.ssm_dt.bias"},
    {"backbone.layers.{}.mixer.A_log", "blk.{}.ssm_a", negative_exp},
    {"backbone.layers.{}.mixer.D", "blk.{}.ssm_d"},
    {"backbone.layers.{}.mixer.norm", "blk.{}.ssm_norm"},
    {"backbone.layers.{}.mixer.out_proj", "blk.{}.ssm_out"},
};

void add_mamba2_keys(const JsonObject& config, bool, GgufMetadata& metadata) {
  set_count(
      metadata, "mamba2.ssm.inner_size",
      find_count(config, "hidden_size").value_or(0) * find_count(config, "expand").value_or(2));
  const JsonArray* limits = find_array(config, "time_step_limit");
  if (limits == nullptr || limits->size() != 2) return;
  // Infinity is no limit, as Python writes it into JSON, and as an object of transformers 5.
  const auto set = [&](const char* key, const JsonValue& limit) {
    const bool is_whole = std::holds_alternative<std::int64_t>(limit);
    if (!is_whole && !std::holds_alternative<double>(limit)) return;
    const double value = as_number(limit, "time_step_limit", config_source()).value_or(0);
    if (!std::isinf(value)) metadata.set(key, value);
  };
  set("mamba2.ssm.time_step_min", (*limits)[0]);
  set("mamba2.ssm.time_step_max", (*limits)[1]);
}

}  // namespace

Family mamba2_family() {
  return {.architecture = "mamba2",
          .model_types = kMamba2Types,
          .rope = RopePairs::none,
          .mixer = Mixer::scan,
          .keys = kMamba2Keys,
          .tensors = kMamba2Tensors,
          .adjust_folder = add_mamba2_keys};
}

}  // namespace hearth::models
