#include "models/language/blocks/recurrent.h"

#include <cmath>
#include <utility>
#include <vector>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

// The new states of the batch's sequences, in place of their old ones.
void write_states(Array& states, const Array& which, const Array& values) {
  states =
      select_assign(std::exchange(states, Array()), which, values, 0, IndexingUpdateOp::assign);
}

// x [rows, heads, dim] by its length, in f32 at least.
Array unit(const Array& x) {
  constexpr double kEpsilon = 1e-6;
  return x * rsqrt(sum(square(x), {-1}, true) + kEpsilon);
}

}  // namespace

RowConvolution::RowConvolution(Weights& weights, const std::string& prefix, std::int64_t channels,
                               std::int64_t kernel)
    : weight(cast(weights.matrix(prefix + "ssm_conv1d.weight", {channels, kernel}),
                  weights.compute())),
      bias(weights.optional_vector(prefix + "ssm_conv1d.bias", channels)) {}

Array RowConvolution::forward(const Array& x, const Batch& batch, LayerCache& cache) const {
  const auto [y, state] =
      causal_conv(x, weight, select(cache.convolution, batch.states, 0), batch.starts, bias);
  write_states(cache.convolution, batch.states, state);
  return silu(y);
}

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
  convolution = RowConvolution(weights, prefix, 2 * keys + values, config.kernel);
  decay = weights.vector(prefix + "ssm_a", config.value_heads);
  dt_bias = weights.vector(prefix + "ssm_dt.bias", config.value_heads);
  norm = weights.norm(prefix + "ssm_norm", config.value_dim, model.norm_epsilon);
  output = weights.projection(prefix + "ssm_out", model.dim, values);
}

Array DeltaNet::forward(const Array& x, const Batch& batch, LayerCache& cache) const {
  const std::int64_t rows = x.shape(0);
  const std::int64_t keys = config.key_heads * config.key_dim;
  const std::int64_t values = config.value_heads * config.value_dim;
  const std::vector<Array> parts =
      split(convolution.forward(mixed.forward(x), batch, cache), {keys, keys, values}, 1);
  const Shape of_keys = {rows, config.key_heads, config.key_dim};
  const Shape of_values = {rows, config.value_heads, config.value_dim};
  const Array q =
      unit(reshape(parts[0], of_keys)) * (1 / std::sqrt(static_cast<double>(config.key_dim)));
  const Array k = unit(reshape(parts[1], of_keys));
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

StateScan::StateScan(const LanguageConfig& model, Weights& weights, const std::string& prefix)
    : config(model.scan), epsilon(model.norm_epsilon) {
  const std::int64_t inner = config.heads * config.head_dim;
  const std::int64_t convolved = inner + 2 * config.groups * config.state;
  input = weights.projection(prefix + "ssm_in", inner + convolved + config.heads, model.dim);
  convolution = RowConvolution(weights, prefix, convolved, config.kernel);
  dt_bias = weights.vector(prefix + "ssm_dt.bias", config.heads);
  // Files hold one column of each, or a vector.
  const auto per_head = [&](const std::string& name) {
    const bool is_vector = weights.shape(name).rank() == 1;
    const Array all =
        weights.matrix(name, is_vector ? Shape{config.heads} : Shape{config.heads, 1});
    return cast(reshape(all, {config.heads}), weights.compute());
  };
  decay = per_head(prefix + "ssm_a");
  skip = per_head(prefix + "ssm_d");
  const std::string of_norm = prefix + "ssm_norm.weight";
  const bool is_flat = weights.shape(of_norm).rank() == 1;
  const Shape groups = {config.groups, inner / config.groups};
  norm = cast(reshape(weights.matrix(of_norm, is_flat ? Shape{inner} : groups), groups),
              weights.compute());
  output = weights.projection(prefix + "ssm_out", model.dim, inner);
}

Array StateScan::forward(const Array& x, const Batch& batch, LayerCache& cache) const {
  const std::int64_t rows = x.shape(0);
  const std::int64_t inner = config.heads * config.head_dim;
  const std::int64_t states = config.groups * config.state;
  const std::vector<Array> parts =
      split(input.forward(x), {inner, inner + 2 * states, config.heads}, 1);
  const std::vector<Array> mixed =
      split(convolution.forward(parts[1], batch, cache), {inner, states, states}, 1);
  const Shape of_groups = {rows, config.groups, config.state};
  const Array steps = clamp(softplus(parts[2] + dt_bias), config.least_step, config.largest_step);
  const auto [y, state] =
      selective_scan(reshape(mixed[0], {rows, config.heads, config.head_dim}), steps, decay,
                     reshape(mixed[1], of_groups), reshape(mixed[2], of_groups),
                     select(cache.state, batch.states, 0), batch.starts, skip);
  write_states(cache.state, batch.states, state);
  const Array gated = reshape(reshape(y, {rows, inner}) * silu(parts[0]),
                              {rows, config.groups, inner / config.groups});
  const Array normed = rms_norm(gated, Array(), epsilon) * norm;
  return output.forward(reshape(normed, {rows, inner}));
}

}  // namespace hearth::models
