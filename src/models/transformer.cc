#include "models/transformer.h"

#include <cmath>

#include "core/counted.h"
#include "core/integer_math.h"
#include "core/number_text.h"
#include "core/require.h"
#include "models/files/layer_limit.h"

namespace hearth::models {

TransformerConfig TransformerConfig::resolved() const {
  // Far beyond any model, and small enough that no product of two overflows.
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  TransformerConfig out = *this;
  const auto size = [](const char* what, std::int64_t value, std::int64_t least) {
    require(value >= least && value <= kMax, "transformer", what, value,
            least == 0 ? "0 to 2^30" : "1 to 2^30");
  };
  size("vocabulary out of range", out.vocabulary, 1);
  size("dim out of range", out.dim, 1);
  require(out.layers >= 1 && out.layers <= kMostLayers, "transformer", "layers out of range",
          out.layers, "1 to " + std::to_string(kMostLayers));
  size("heads out of range", out.heads, 1);
  size("context out of range", out.context, 1);
  size("kv_heads out of range", out.kv_heads, 0);
  size("head_dim out of range", out.head_dim, 0);
  size("hidden size out of range", out.hidden, 0);
  if (out.kv_heads == 0) out.kv_heads = out.heads;
  if (out.hidden == 0) out.hidden = round_up(out.dim * 8 / 3, 64);
  require(out.heads % out.kv_heads == 0, "transformer", "kv_heads do not divide heads",
          std::to_string(out.kv_heads) + " for " + counted(out.heads, "head"), "a divisor");
  if (out.head_dim == 0) {
    require(out.dim % out.heads == 0, "transformer", "heads do not divide dim",
            std::to_string(out.heads) + " for dim " + std::to_string(out.dim), "a divisor");
    out.head_dim = out.dim / out.heads;
  }
  require(out.head_dim % 2 == 0, "transformer", "rotary positions need an even head_dim",
          out.head_dim, "an even number");
  if (!(out.rope_base > 0) || !(out.norm_epsilon > 0)) {
    throw Error(ErrorCode::invalid_argument,
                "transformer: rope base or norm epsilon out of range; got " +
                    number_text(out.rope_base) + " and " + number_text(out.norm_epsilon) +
                    ", expected numbers > 0");
  }
  return out;
}

Array DecoderLayer::forward(const Array& x) const {
  nn::MultiHeadAttention::Call call;
  call.causal = true;
  const Array attended = x + self_attn.forward(input_layernorm.forward(x), call);
  return attended + mlp.forward(post_attention_layernorm.forward(attended));
}

Transformer::Transformer(const TransformerConfig& shape, DType compute_dtype, Device device,
                         Generator* generator)
    : config(shape.resolved()), compute(compute_dtype) {
  if (!is_float(compute)) {
    throw Error(ErrorCode::dtype, "transformer: cannot compute in " +
                                      std::string(hearth::name(compute)) +
                                      "; got no float dtype, expected one like f32 or bf16");
  }
  const DType kept = compute == DType::f64 ? DType::f64 : DType::f32;
  const nn::ParameterOptions options{kept, device, generator};
  // Projections start at the scale that keeps activations at unit variance; those that add to the
  // residual stream are smaller by its depth, so that its variance does not grow with it.
  const double deviation = 1 / std::sqrt(static_cast<double>(config.dim));
  const auto inner = nn::Initializer::normal(0, deviation);
  const auto outer =
      nn::Initializer::normal(0, deviation / std::sqrt(2.0 * static_cast<double>(config.layers)));
  const auto table = nn::Initializer::normal(0, 0.1);

  embed_tokens = nn::Embedding(config.vocabulary, config.dim, {table, options});
  for (std::int64_t i = 0; i < config.layers; ++i) {
    DecoderLayer& layer = layers.emplace_back();
    layer.input_layernorm = nn::RmsNorm(config.dim, config.norm_epsilon, options);
    nn::MultiHeadAttention::Options attention;
    attention.kv_heads = config.kv_heads;
    attention.head_dim = config.head_dim;
    attention.bias = false;
    attention.dropout = 0;
    attention.rope_base = config.rope_base;
    attention.initializer = inner;
    attention.output_initializer = outer;
    attention.parameters = options;
    layer.self_attn = nn::MultiHeadAttention(config.dim, config.heads, attention);
    layer.post_attention_layernorm = nn::RmsNorm(config.dim, config.norm_epsilon, options);
    nn::FeedForward::Options feed_forward;
    feed_forward.initializer = inner;
    feed_forward.output_initializer = outer;
    feed_forward.parameters = options;
    layer.mlp = nn::FeedForward(config.dim, config.hidden, feed_forward);
  }
  norm = nn::RmsNorm(config.dim, config.norm_epsilon, options);
  if (!config.tied) lm_head = nn::Linear(config.dim, config.vocabulary, {false, inner, options});
}

Array Transformer::hidden(const Array& tokens) const {
  if (tokens.rank() != 2) {
    throw Error(ErrorCode::shape, "transformer: tokens of wrong rank; got " +
                                      to_string(tokens.shape()) + ", expected [batch, rows]");
  }
  if (tokens.shape(1) > config.context) {
    throw Error(ErrorCode::shape, "transformer: more tokens than the context holds; got " +
                                      std::to_string(tokens.shape(1)) + ", expected at most " +
                                      std::to_string(config.context));
  }
  Array x = cast(embed_tokens.forward(tokens), compute);
  for (const DecoderLayer& layer : layers) x = layer.forward(x);
  return norm.forward(x);
}

Array Transformer::logits(const Array& activations) const {
  if (!config.tied) return lm_head.forward(activations);
  return linear(activations, cast(embed_tokens.weight.array(), activations.dtype()));
}

Array Transformer::loss(const Array& tokens, const Array& targets) const {
  return cross_entropy(logits(hidden(tokens)), targets);
}

}  // namespace hearth::models
