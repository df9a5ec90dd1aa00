// The gated delta rule of Qwen3-Next, behind a causal convolution.
#include <cmath>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "models/files/row_order.h"
#include "models/language/blocks/row_convolution.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

struct DeltaNet final : MixerBlock {
  DeltaNet(const LanguageConfig& model, Weights& weights, const std::string& prefix);
  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const override;

  DeltaConfig config;
  Projection mixed, gate;  // queries, keys and values; what results are gated by
  Projection beta, alpha;  // [value_heads, dim]
  Projection beta_alpha;   // of each key head its betas, then its alphas: in place of both
  RowConvolution convolution;
  Array decay;    // [value_heads]: -e^A
  Array dt_bias;  // [value_heads]
  Norm norm;      // of value_dim
  Projection output;
};

DeltaNet::DeltaNet(const LanguageConfig& model, Weights& weights, const std::string& prefix)
    : config(model.delta) {
  const std::int64_t keys = config.key_heads * config.key_dim;
  const std::int64_t values = config.value_heads * config.value_dim;
  mixed = weights.projection(prefix + "attn_qkv", 2 * keys + values, model.dim);
  gate = weights.projection(prefix + "attn_gate", values, model.dim);
  beta_alpha = weights.optional_projection(prefix + "ssm_ba", 2 * config.value_heads, model.dim);
  if (!beta_alpha.defined()) {
    beta = weights.projection(prefix + "ssm_beta", config.value_heads, model.dim);
    alpha = weights.projection(prefix + "ssm_alpha", config.value_heads, model.dim);
  }
  convolution = RowConvolution(weights, prefix + "ssm_conv1d", 2 * keys + values, config.kernel);
  decay = weights.vector(prefix + "ssm_a", config.value_heads);
  dt_bias = weights.vector(prefix + "ssm_dt.bias", config.value_heads);
  norm = weights.norm(prefix + "ssm_norm", config.value_dim, model.norm_epsilon);
  output = weights.projection(prefix + "ssm_out", model.dim, values);
}

Array DeltaNet::forward(const Array& x, const Batch& batch, LayerCache& cache, std::int64_t) const {
  const std::int64_t rows = x.shape(0);
  const std::int64_t keys = config.key_heads * config.key_dim;
  const std::int64_t values = config.value_heads * config.value_dim;
  const std::vector<Array> parts =
      split(silu(convolution.forward(mixed.forward(x), batch, cache)), {keys, keys, values}, 1);
  const Shape of_keys = {rows, config.key_heads, config.key_dim};
  const Shape of_values = {rows, config.value_heads, config.value_dim};
  const Array q =
      l2_norm(reshape(parts[0], of_keys)) * (1 / std::sqrt(static_cast<double>(config.key_dim)));
  const Array k = l2_norm(reshape(parts[1], of_keys));
  Array betas, alphas;
  if (beta_alpha.defined()) {
    const std::int64_t ratio = config.value_heads / config.key_heads;
    const std::vector<Array> both =
        chunk(reshape(beta_alpha.forward(x), {rows, config.key_heads, 2 * ratio}), 2, 2);
    betas = reshape(both[0], {rows, config.value_heads});
    alphas = reshape(both[1], {rows, config.value_heads});
  } else {
    betas = beta.forward(x);
    alphas = alpha.forward(x);
  }
  const DType wide = cache.state.dtype();
  const Array log_decay = cast(decay, wide) * softplus(cast(alphas, wide) + cast(dt_bias, wide));
  const auto [y, state] =
      gated_delta_rule(q, k, reshape(parts[2], of_values), log_decay, sigmoid(cast(betas, wide)),
                       select(cache.state, batch.states, 0), batch.starts, {config.is_tiled});
  write_states(cache.state, batch.states, state);
  const Array gated = norm.forward(y) * silu(reshape(gate.forward(x), of_values));
  return output.forward(reshape(gated, {rows, values}));
}

// Of four layers the last has attention, where files do not say which.
bool is_delta_layer(const Keys& keys, std::int64_t layer) {
  const std::int64_t period = keys.size("full_attention_interval", 4);
  const bool is_last = period > 0 && layer % period == period - 1;
  return keys.flag_of("attention.recurrent_layers", layer, !is_last);
}

void read_delta(const Keys& keys, const Family& family, FileKind kind, LanguageConfig& config) {
  DeltaConfig& delta = config.delta;
  delta.key_heads = keys.some_count("ssm.group_count");
  delta.value_heads = keys.some_count("ssm.time_step_rank");
  delta.key_dim = keys.some_count("ssm.state_size");
  // GGUF's heads of values are as long as those of keys.
  delta.value_dim = keys.some_count("ssm.value_size", delta.key_dim);
  delta.kernel = keys.some_count("ssm.conv_kernel");
  delta.is_tiled = family.tiles_values && kind == FileKind::gguf;
}

// Head k of keys first gets one value head, and so do all others, before it gets its second.
void tile_value_heads(GgufContents& contents, const LanguageConfig& config) {
  const DeltaConfig& delta = config.delta;
  const std::int64_t ratio = delta.value_heads / delta.key_heads;
  const std::int64_t before = 2 * delta.key_heads * delta.key_dim;
  const auto order_of = [&](std::int64_t kept, std::int64_t width) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < kept; ++i) order.push_back(i);
    for (std::int64_t head = 0; head < delta.value_heads; ++head) {
      const std::int64_t from = head % delta.key_heads * ratio + head / delta.key_heads;
      for (std::int64_t i = 0; i < width; ++i) order.push_back(kept + from * width + i);
    }
    return order;
  };
  const auto reorder = [&](const std::string& ending, std::int64_t kept, std::int64_t width,
                           int axis) {
    change_arrays(contents.arrays, ending, [&](const Array& x) {
      require_extent(x, axis, kept + delta.value_heads * width);
      return in_order(x, order_of(kept, width), axis);
    });
  };
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (config.layers[i].mixer != Mixer::delta) continue;
    const std::string prefix = "blk." + std::to_string(i) + ".";
    for (const char* name : {"attn_qkv.weight", "ssm_conv1d.weight"}) {
      reorder(prefix + name, before, delta.value_dim, 0);
    }
    reorder(prefix + "attn_gate.weight", 0, delta.value_dim, 0);
    for (const char* name : {"ssm_alpha.weight", "ssm_beta.weight", "ssm_a", "ssm_dt.bias"}) {
      reorder(prefix + name, 0, 1, 0);
    }
    reorder(prefix + "ssm_out.weight", 0, delta.value_dim, 1);
  }
}

void lay_out_delta(GgufContents& contents, const LanguageConfig& config, const Family& family) {
  set_count(contents.metadata, config.architecture + ".ssm.inner_size",
            config.delta.value_heads * config.delta.value_dim);
  if (family.tiles_values) tile_value_heads(contents, config);
}

MixerMemory delta_memory(const LanguageConfig& config, const LayerConfig&) {
  const DeltaConfig& delta = config.delta;
  const std::int64_t channels =
      2 * delta.key_heads * delta.key_dim + delta.value_heads * delta.value_dim;
  return {.convolution = {delta.kernel - 1, channels},
          .state = {delta.value_heads, delta.key_dim, delta.value_dim}};
}

std::int64_t delta_columns(const LanguageConfig& config, const LayerConfig&) {
  const DeltaConfig& delta = config.delta;
  return 4 * delta.key_heads * delta.key_dim + 3 * delta.value_heads * delta.value_dim;
}

std::shared_ptr<const MixerBlock> make_delta(const MixerParts& parts) {
  return std::make_shared<DeltaNet>(parts.model, parts.weights, parts.prefix);
}

}  // namespace

// Families may deal out heads of values in files otherwise than in folders.
constinit const MixerDef delta_mixer = {.has_states = true,
                                        .block_rows = kDeltaRuleBlock,
                                        .reorders_rows = true,
                                        .mixes_layer = is_delta_layer,
                                        .read = read_delta,
                                        .lay_out = lay_out_delta,
                                        .memory = delta_memory,
                                        .widest_columns = delta_columns,
                                        .make = make_delta};

}  // namespace hearth::models
