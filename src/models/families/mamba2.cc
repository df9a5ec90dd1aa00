// Mamba 2: a scan in each layer, no attention and no feed-forward.
#include "models/families/transforms.h"
#include "models/language/folder/config_values.h"
#include "models/language/folder/file_layout.h"

namespace hearth::models {
namespace {

constexpr std::string_view kMamba2Types[] = {"mamba2"};
constexpr KeyRule kMamba2Keys[] = {
    {"conv_kernel", "ssm.conv_kernel"},
    {"state_size", "ssm.state_size"},
    {"num_heads", "ssm.time_step_rank"},
    {"n_groups", "ssm.group_count"},
    {"layer_norm_epsilon", "attention.layer_norm_rms_epsilon"},
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

void adjust_mamba2(LanguageConfig& config, const Keys& keys, FileKind) {
  ScanConfig& scan = config.scan;
  scan.heads = keys.size("ssm.time_step_rank");
  scan.groups = keys.size("ssm.group_count", 1);
  scan.state = keys.size("ssm.state_size");
  scan.kernel = keys.size("ssm.conv_kernel");
  const std::int64_t inner = keys.size("ssm.inner_size");
  if (scan.heads < 1 || scan.groups < 1 || inner % scan.heads != 0 ||
      scan.heads % scan.groups != 0) {
    throw Error(ErrorCode::invalid_argument,
                keys.full("ssm.inner_size") + ": no such heads; got " + std::to_string(inner) +
                    " for " + std::to_string(scan.heads) + " heads, expected a multiple");
  }
  scan.head_dim = inner / scan.heads;
  scan.least_step = keys.number("ssm.time_step_min", scan.least_step);
  scan.largest_step = keys.number("ssm.time_step_max", scan.largest_step);
  for (LayerConfig& layer : config.layers) {
    layer.mixer = Mixer::scan;
    layer.hidden = 0;
  }
}

void add_mamba2_keys(const JsonObject& config, const JsonObject&, GgufMetadata& metadata) {
  const std::int64_t inner =
      find_integer(config, "hidden_size").value_or(0) * find_integer(config, "expand").value_or(2);
  metadata.set("mamba2.ssm.inner_size", static_cast<std::uint32_t>(inner));
  const JsonArray* limits = find_array(config, "time_step_limit");
  if (limits == nullptr || limits->size() != 2) return;
  // Infinity, which JSON has no number for, is no limit.
  if (const auto* low = std::get_if<double>(&(*limits)[0])) {
    metadata.set("mamba2.ssm.time_step_min", *low);
  }
  if (const auto* high = std::get_if<double>(&(*limits)[1])) {
    metadata.set("mamba2.ssm.time_step_max", *high);
  }
}

// Files hold columns, and norms by group; positions have no end, which readers want a number for.
void lay_out_mamba2(GgufContents& contents, const LanguageConfig& config) {
  contents.metadata.insert("mamba2.context_length", std::uint32_t{1} << 20);
  const ScanConfig& scan = config.scan;
  const auto column = [&](const Array& x) { return reshape(x, {scan.heads, 1}); };
  change_arrays(contents.arrays, ".ssm_a", column);
  change_arrays(contents.arrays, ".ssm_d", column);
  change_arrays(contents.arrays, ".ssm_norm.weight", [&](const Array& x) {
    return reshape(x, {scan.groups, scan.heads * scan.head_dim / scan.groups});
  });
}

}  // namespace

Family mamba2_family() {
  return {.architecture = "mamba2",
          .model_types = kMamba2Types,
          .rope = RopePairs::none,
          .adjust = adjust_mamba2,
          .keys = kMamba2Keys,
          .tensors = kMamba2Tensors,
          .adjust_folder = add_mamba2_keys,
          .adjust_file = lay_out_mamba2};
}

}  // namespace hearth::models
