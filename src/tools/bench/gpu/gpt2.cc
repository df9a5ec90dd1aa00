#include "tools/bench/gpu/gpt2.h"

#include <cmath>

#include "core/require.h"
#include "models/files/layer_limit.h"

namespace hearth::tools {
namespace {

void check(const Gpt2Config& config) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  const auto size = [](const char* what, std::int64_t value) {
    require(value >= 1 && value <= kMax, "gpt2", what, value, "1 to 2^30");
  };
  size("vocabulary out of range", config.vocabulary);
  size("dim out of range", config.dim);
  size("context out of range", config.context);
  size("heads out of range", config.heads);
  require(config.layers >= 1 && config.layers <= models::kMostLayers, "gpt2", "layers out of range",
          config.layers, "1 to " + std::to_string(models::kMostLayers));
  require(config.dim % config.heads == 0, "gpt2", "heads do not divide dim", config.heads,
          "a divisor");
}

Gpt2Projection projection(std::int64_t in, std::int64_t out, double deviation,
                          const nn::ParameterOptions& options) {
  return {nn::Initializer::normal(0, deviation).make({in, out}, in, out, options),
          nn::Initializer::zeros().make({out}, in, out, options)};
}

// What sums over many terms are kept in.
DType wide(DType compute) { return compute == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace

Array Gpt2Projection::forward(const Array& x) const {
  return matmul(x, cast(weight, x.dtype())) + cast(bias, x.dtype());
}

Array Gpt2Attention::forward(const Array& x) const {
  const std::int64_t batch = x.shape(0);
  const std::int64_t rows = x.shape(1);
  const std::int64_t dim = x.shape(2);
  // Split where heads are an axis already, so that the gradients of the parts are joined without
  // being laid out first.
  const Array qkv = reshape(c_attn.forward(x), {batch, rows, 3, heads, dim / heads});
  const auto part = [&](std::int64_t i) {
    return permute(squeeze(narrow(qkv, 2, i, 1), {2}), {0, 2, 1, 3});
  };
  AttentionOptions options;
  options.causal = true;
  const Array mixed = attention(part(0), part(1), part(2), options);
  return c_proj.forward(reshape(permute(mixed, {0, 2, 1, 3}), {batch, rows, dim}));
}

Array Gpt2FeedForward::forward(const Array& x) const {
  return c_proj.forward(gelu(c_fc.forward(x), true));
}

Array Gpt2Layer::forward(const Array& x, DType compute) const {
  const Array attended = x + cast(attn.forward(cast(ln_1.forward(x), compute)), x.dtype());
  return attended + cast(mlp.forward(cast(ln_2.forward(attended), compute)), x.dtype());
}

Gpt2::Gpt2(const Gpt2Config& shape, DType compute_dtype, Device device, Generator* generator)
    : config(shape), compute(compute_dtype) {
  check(config);
  if (!is_float(compute)) {
    throw Error(ErrorCode::dtype, "gpt2: cannot compute in " + std::string(hearth::name(compute)) +
                                      "; got no float dtype, expected one like f32 or bf16");
  }
  const nn::ParameterOptions options{wide(compute), device, generator};
  constexpr double kDeviation = 0.02;
  // What adds to the residual stream starts smaller by its depth.
  const double outer = kDeviation / std::sqrt(2.0 * static_cast<double>(config.layers));
  const std::int64_t dim = config.dim;
  wte = nn::Embedding(config.vocabulary, dim, {nn::Initializer::normal(0, kDeviation), options});
  wpe = nn::Embedding(config.context, dim, {nn::Initializer::normal(0, kDeviation), options});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    Gpt2Layer& layer = layers.emplace_back();
    layer.ln_1 = nn::LayerNorm(dim, config.norm_epsilon, true, options);
    layer.attn = {projection(dim, 3 * dim, kDeviation, options),
                  projection(dim, dim, outer, options), config.heads};
    layer.ln_2 = nn::LayerNorm(dim, config.norm_epsilon, true, options);
    layer.mlp = {projection(dim, 4 * dim, kDeviation, options),
                 projection(4 * dim, dim, outer, options)};
  }
  ln_f = nn::LayerNorm(dim, config.norm_epsilon, true, options);
}

Array Gpt2::hidden(const Array& tokens) const {
  if (tokens.rank() != 2) {
    throw Error(ErrorCode::shape, "gpt2: tokens of wrong rank; got " + to_string(tokens.shape()) +
                                      ", expected [batch, rows]");
  }
  const std::int64_t rows = tokens.shape(1);
  if (rows > config.context) {
    throw Error(ErrorCode::shape, "gpt2: more tokens than the context holds; got " +
                                      std::to_string(rows) + ", expected at most " +
                                      std::to_string(config.context));
  }
  Array x = cast(wte.forward(tokens) + narrow(wpe.weight.array(), 0, 0, rows), wide(compute));
  for (const Gpt2Layer& layer : layers) x = layer.forward(x, compute);
  return cast(ln_f.forward(x), compute);
}

Array Gpt2::logits(const Array& activations) const {
  return linear(activations, cast(wte.weight.array(), activations.dtype()));
}

Array Gpt2::loss(const Array& tokens, const Array& targets) const {
  return cross_entropy(logits(hidden(tokens)), targets);
}

}  // namespace hearth::tools
