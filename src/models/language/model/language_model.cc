#include "models/language/model/language_model.h"

#include <algorithm>
#include <cmath>

#include "hearth/ops.h"
#include "models/files/tensor_roles.h"
#include "models/language/require_scores.h"

namespace hearth::models {
namespace {

Norm read_norm(const LanguageConfig& config, Weights& weights, const std::string& name) {
  if (config.has_norm_weights) {
    return weights.norm(name, config.dim, config.norm_epsilon, config.norm);
  }
  return {ones({config.dim}, weights.compute(), weights.device()), config.norm_epsilon,
          config.norm};
}

LanguageLayer read_layer(const LanguageConfig& config, std::int64_t i, Weights& weights,
                         const Array& divisors, Device device) {
  const LayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
  const std::string prefix = "blk." + std::to_string(i) + ".";
  const auto norm = [&](std::string_view name) {
    return read_norm(config, weights, prefix + std::string(name));
  };
  const bool has_before = config.places == NormPlaces::before || config.places == NormPlaces::both;
  const bool has_after = config.places == NormPlaces::after || config.places == NormPlaces::both;
  // Falcon's feed-forward has the norm that attention has elsewhere, where attention has another.
  const bool has_second = config.may_share_norm && weights.has(prefix + "attn_norm_2.weight");
  LanguageLayer made;
  if (has_before && (i > 0 || config.norms_first_mixer)) {
    made.mixer_norm = norm(has_second ? "attn_norm_2" : "attn_norm");
  }
  if (has_after) made.mixer_post_norm = norm("post_attention_norm");
  if (config.places == NormPlaces::around_sum) made.mixer_post_norm = norm("attn_output_norm");
  made.mixer = definition_of(layer.mixer).make({config, layer, weights, prefix, divisors, device});
  if (layer.hidden > 0 || layer.experts.count > 0) {
    if (has_before) {
      const bool is_shared = config.may_share_norm && config.is_parallel && !has_second;
      const std::string own = has_second ? "attn_norm" : config.feed_forward_norm;
      made.feed_forward_norm = is_shared ? made.mixer_norm : norm(own);
    }
    if (has_after) made.feed_forward_post_norm = norm("post_ffw_norm");
    if (config.places == NormPlaces::around_sum) {
      made.feed_forward_post_norm = norm("layer_output_norm");
    }
    if (layer.experts.count > 0) {
      made.experts = Experts(config, layer.experts, weights, prefix);
    }
    if (layer.hidden > 0) {
      made.feed_forward = FeedForward(config, layer.hidden, weights, prefix);
      made.feed_forward.xielu = layer.xielu;
    }
    if (made.experts.defined() && made.feed_forward.defined()) {
      made.dense_post_norm = norm("post_ffw_norm_1");
      made.experts_norm = norm("pre_ffw_norm_2");
      made.experts_post_norm = norm("post_ffw_norm_2");
    }
  }
  if (config.layer_input_dim > 0) made.input_block = LayerInput(config, weights, prefix);
  made.output_scale = weights.optional_vector(prefix + "layer_output_scale.weight", 1);
  return made;
}

// The divisors of rotary positions that hold for texts of `context` tokens, or nothing.
Array read_divisors(const LanguageConfig& config, Weights& weights, std::int64_t context) {
  std::int64_t pairs = 0;
  std::int64_t original = config.context;
  for (const LayerConfig& layer : config.layers) {
    if (!layer.attention.rope.has_factors) continue;
    pairs = layer.attention.rope.dims / 2;
    original = layer.attention.rope.scaling.original_length;
  }
  if (pairs == 0) {
    for (const char* unread :
         {"rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"}) {
      weights.ignore(unread);
    }
    return {};
  }
  const Array of_long = weights.optional_vector("rope_factors_long.weight", pairs);
  const Array of_short = weights.optional_vector("rope_factors_short.weight", pairs);
  if (of_long.defined() && of_short.defined()) return context > original ? of_long : of_short;
  return weights.optional_vector("rope_freqs.weight", pairs);
}

// Bases of positions in texts of `context` tokens (RopeConfig::growth).
void grow_bases(LanguageConfig& config, std::int64_t context) {
  if (context <= config.context) return;
  const double times = static_cast<double>(context) / static_cast<double>(config.context);
  for (LayerConfig& layer : config.layers) {
    RopeConfig& rope = layer.attention.rope;
    if (rope.growth == 0 || rope.dims <= 2) continue;
    const auto dims = static_cast<double>(rope.dims);
    rope.base *= std::pow(1 + rope.growth * (times - 1), dims / (dims - 2));
  }
}

}  // namespace

Array LanguageLayer::transform(const Array& x) const {
  const Array normed = feed_forward_norm.forward(x);
  if (!experts.defined()) return feed_forward.forward(normed);
  if (!feed_forward.defined()) return experts.forward(normed, normed);
  return dense_post_norm.forward(feed_forward.forward(normed)) +
         experts_post_norm.forward(experts.forward(experts_norm.forward(x), x));
}

Array LanguageLayer::forward(const Array& x, const Array& input, const LanguageConfig& model,
                             const Batch& batch, LayerCache& cache, std::int64_t page_size) const {
  const Array y = forward_blocks(x, model, batch, cache, page_size);
  const Array with_input = input_block.defined() ? input_block.forward(y, input) : y;
  return output_scale.defined() ? with_input * output_scale : with_input;
}

Array LanguageLayer::forward_blocks(const Array& x, const LanguageConfig& model, const Batch& batch,
                                    LayerCache& cache, std::int64_t page_size) const {
  const auto scaled = [&](const Array& added) {
    return model.residual_scale == 1 ? added : added * model.residual_scale;
  };
  const bool is_around = model.places == NormPlaces::around_sum;
  // Norms that a family does not have leave what they get.
  const auto after = [&](const Norm& norm, const Array& y) {
    return is_around ? scaled(y) : scaled(norm.forward(y));
  };
  const Array mixed =
      after(mixer_post_norm, mixer->forward(mixer_norm.forward(x), batch, cache, page_size));
  if (model.is_parallel) {
    return x + mixed + after(feed_forward_post_norm, transform(x));
  }
  Array sum = x + mixed;
  if (is_around) sum = mixer_post_norm.forward(sum);
  if (!transforms()) return sum;
  const Array y = sum + after(feed_forward_post_norm, transform(sum));
  return is_around ? feed_forward_post_norm.forward(y) : y;
}

LanguageModel::LanguageModel(const LanguageConfig& its_config, Weights weights, Device its_device,
                             std::int64_t context)
    : config(its_config),
      trained_context(its_config.context),
      compute(weights.compute()),
      device(its_device) {
  token_embedding = weights.matrix(std::string(kTokenEmbedding), {-1, config.dim});
  position_embedding = weights.optional_matrix("position_embd.weight", {-1, config.dim});
  if (weights.has("token_types.weight")) {
    type_embedding = narrow(weights.matrix("token_types.weight", {-1, config.dim}), 0, 0, 1);
  }
  // Of LFM2 the norm before the output is called so.
  const bool is_of_output = config.is_causal && !weights.has("output_norm.weight") &&
                            weights.has("token_embd_norm.weight");
  if (weights.has("token_embd_norm.weight") && !is_of_output) {
    embedding_norm = read_norm(config, weights, "token_embd_norm");
  }
  if (config.layer_input_dim > 0) {
    layer_inputs = LayerInputs(config, token_embedding.shape(0), weights);
  }
  if (config.may_share_norm) {
    config.is_parallel = !weights.has("blk.0." + config.feed_forward_norm + ".weight");
  }
  grow_bases(config, context);
  const Array divisors = read_divisors(config, weights, context == 0 ? config.context : context);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(config.layers.size()); ++i) {
    layers.push_back(read_layer(config, i, weights, divisors, device));
  }
  for (std::int64_t i = 0; i < config.drafting_layers; ++i) {
    weights.ignore_layer(static_cast<std::int64_t>(layers.size()) + i);
  }
  if (config.is_causal || weights.has("output_norm.weight")) {
    output_norm = read_norm(config, weights, is_of_output ? "token_embd_norm" : "output_norm");
  }
  output = weights.optional_projection("output", token_embedding.shape(0), config.dim);
  if (!output.defined() && config.has_output) {
    output.weight = token_embedding;
    output.bias = weights.optional_vector("output.bias", token_embedding.shape(0));
  }
  weights.require_empty();
  if (context == 0) return;
  const bool has_rows = position_embedding.defined();
  config.context = has_rows ? std::min(context, position_embedding.shape(0)) : context;
}

Array LanguageModel::hidden(const Batch& batch, Cache& cache) const {
  const auto rows_of = [&](const Array& table, const Array& indices) {
    return cast(embedding(table, indices), compute);
  };
  Array x = rows_of(token_embedding, batch.tokens);
  if (config.embedding_scale != 1) x = x * config.embedding_scale;
  if (position_embedding.defined()) x = x + rows_of(position_embedding, batch.positions);
  if (type_embedding.defined()) x = x + cast(type_embedding, compute);
  x = embedding_norm.forward(x);
  const Array inputs = layer_inputs.defined() ? layer_inputs.forward(batch.tokens, x) : Array();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::int64_t shared = config.layers[i].attention.shared_layer;
    LayerCache& own = cache.layers[shared < 0 ? i : static_cast<std::size_t>(shared)];
    const Array input = inputs.defined() ? squeeze(narrow(inputs, 1, index, 1), {1}) : Array();
    x = layers[i].forward(x, input, config, batch, own, cache.options.page_size);
  }
  return x;
}

Array LanguageModel::logits(const Batch& batch, Cache& cache) const {
  return scores(select(hidden(batch, cache), batch.outputs, 0));
}

Array LanguageModel::scores(const Array& x) const {
  if (!output.defined()) require_scores(config, "model: scores");
  Array made =
      cast(output.forward(output_norm.forward(x)), compute == DType::f64 ? DType::f64 : DType::f32);
  if (config.logit_scale != 1) made = made * config.logit_scale;
  if (config.logit_softcap > 0) {
    made = tanh(made * (1 / config.logit_softcap)) * config.logit_softcap;
  }
  return made;
}

}  // namespace hearth::models
