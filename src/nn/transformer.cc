#include "hearth/nn/transformer.h"

#include <string>

#include "core/require.h"
#include "core/throw_as.h"
#include "nn/restore_on_error.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

void require_layers(const char* layer, std::int64_t count) {
  require_in_range(count >= 0 && count <= 10000, layer, "layers", count, "0 to 10000");
}

void require_caches(const char* layer, std::size_t caches, std::size_t layers) {
  if (caches == layers) return;
  throw Error(ErrorCode::invalid_argument, std::string(layer) + ": caches of another one; got " +
                                               std::to_string(caches) + ", expected " +
                                               std::to_string(layers) + ", one for each layer");
}

MultiHeadAttention attention_of(std::int64_t dim, std::int64_t heads,
                                const TransformerOptions& options) {
  MultiHeadAttention::Options of_it;
  of_it.dropout = options.dropout;
  of_it.quiet_softmax = options.quiet_softmax;
  of_it.initializer = options.initializer;
  of_it.parameters = options.parameters;
  return MultiHeadAttention(dim, heads, of_it);
}

PositionWiseFeedForward feed_forward_of(std::int64_t dim, std::int64_t hidden,
                                        const TransformerOptions& options) {
  return PositionWiseFeedForward(
      dim, hidden, {options.dropout, options.activation, options.initializer, options.parameters});
}

LayerNorm norm_of(std::int64_t dim, const TransformerOptions& options) {
  return LayerNorm(dim, options.norm_epsilon, true, options.parameters);
}

// x plus what `layer` makes of it, normalised before or behind.
template <class F>
Array residual(const Array& x, const LayerNorm& norm, bool norm_first, const Dropout& dropout,
               bool training, F layer) {
  if (norm_first) return x + dropout.forward(layer(norm.forward(x)), training);
  return norm.forward(x + dropout.forward(layer(x), training));
}

KvCache cache_of(const MultiHeadAttention& layer, std::int64_t batch, std::int64_t capacity) {
  const Array& weight = layer.k_proj.weight.array();
  return KvCache(batch, layer.kv_heads, capacity, layer.head_dim, weight.dtype(), weight.device());
}

}  // namespace

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t dim, std::int64_t hidden,
                                                 std::int64_t heads,
                                                 const TransformerOptions& options) try
    : self_attn(attention_of(dim, heads, options)),
      feed_forward(feed_forward_of(dim, hidden, options)),
      norm1(norm_of(dim, options)),
      norm2(norm_of(dim, options)),
      dropout{options.dropout},
      norm_first(options.norm_first) {
} catch (const Error& error) {
  throw_as("transformer_encoder_layer", error);
}

Array TransformerEncoderLayer::forward(const Array& x, const MultiHeadAttention::Call& call) const
    try {
  nn_detail::RestoreOnError cache(call.cache);
  const Array attended = residual(x, norm1, norm_first, dropout, call.training,
                                  [&](const Array& rows) { return self_attn.forward(rows, call); });
  const Array result =
      residual(attended, norm2, norm_first, dropout, call.training,
               [&](const Array& rows) { return feed_forward.forward(rows, call.training); });
  cache.keep();
  return result;
} catch (const Error& error) {
  throw_as("transformer_encoder_layer", error);
}

TransformerEncoder::TransformerEncoder(std::int64_t dim, std::int64_t hidden, std::int64_t heads,
                                       std::int64_t layer_count,
                                       const TransformerOptions& options) try {
  require_layers("transformer_encoder", layer_count);
  for (std::int64_t i = 0; i < layer_count; ++i) layers.emplace_back(dim, hidden, heads, options);
} catch (const Error& error) {
  throw_as("transformer_encoder", error);
}

Array TransformerEncoder::forward(const Array& x, const Call& call) const try {
  if (call.caches != nullptr) {
    require_caches("transformer_encoder", call.caches->size(), layers.size());
  }
  nn_detail::RestoreOnError caches(call.caches);
  Array rows = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    MultiHeadAttention::Call inner;
    inner.causal = call.causal;
    inner.mask = call.mask;
    inner.padding = call.padding;
    inner.cache = call.caches != nullptr ? &(*call.caches)[i] : nullptr;
    inner.training = call.training;
    rows = layers[i].forward(rows, inner);
  }
  caches.keep();
  return rows;
} catch (const Error& error) {
  throw_as("transformer_encoder", error);
}

std::vector<KvCache> TransformerEncoder::make_caches(std::int64_t batch,
                                                     std::int64_t capacity) const {
  std::vector<KvCache> caches;
  for (const auto& layer : layers) caches.push_back(cache_of(layer.self_attn, batch, capacity));
  return caches;
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t dim, std::int64_t hidden,
                                                 std::int64_t heads,
                                                 const TransformerOptions& options) try
    : self_attn(attention_of(dim, heads, options)),
      feed_forward(feed_forward_of(dim, hidden, options)),
      norm1(norm_of(dim, options)),
      norm2(norm_of(dim, options)),
      norm3(norm_of(dim, options)),
      dropout{options.dropout},
      norm_first(options.norm_first) {
  CrossAttention::Options to_memory;
  to_memory.dropout = options.dropout;
  to_memory.quiet_softmax = options.quiet_softmax;
  to_memory.initializer = options.initializer;
  to_memory.parameters = options.parameters;
  multihead_attn = CrossAttention(dim, heads, to_memory);
} catch (const Error& error) {
  throw_as("transformer_decoder_layer", error);
}

Array TransformerDecoderLayer::forward(const Array& x, const Array& memory,
                                       const MultiHeadAttention::Call& to_itself,
                                       const CrossAttention::Call& to_memory) const try {
  nn_detail::RestoreOnError own_cache(to_itself.cache);
  nn_detail::RestoreOnError memory_cache(to_memory.cache);
  const bool training = to_itself.training;
  const Array attended = residual(x, norm1, norm_first, dropout, training, [&](const Array& rows) {
    return self_attn.forward(rows, to_itself);
  });
  const Array informed =
      residual(attended, norm2, norm_first, dropout, training,
               [&](const Array& rows) { return multihead_attn.forward(rows, memory, to_memory); });
  const Array result =
      residual(informed, norm3, norm_first, dropout, training,
               [&](const Array& rows) { return feed_forward.forward(rows, training); });
  own_cache.keep();
  memory_cache.keep();
  return result;
} catch (const Error& error) {
  throw_as("transformer_decoder_layer", error);
}

TransformerDecoder::TransformerDecoder(std::int64_t dim, std::int64_t hidden, std::int64_t heads,
                                       std::int64_t layer_count,
                                       const TransformerOptions& options) try {
  require_layers("transformer_decoder", layer_count);
  for (std::int64_t i = 0; i < layer_count; ++i) layers.emplace_back(dim, hidden, heads, options);
} catch (const Error& error) {
  throw_as("transformer_decoder", error);
}

Array TransformerDecoder::forward(const Array& x, const Array& memory, const Call& call) const try {
  if (call.cache != nullptr) {
    require_caches("transformer_decoder", call.cache->rows.size(), layers.size());
    require_caches("transformer_decoder", call.cache->memory.size(), layers.size());
  }
  nn_detail::RestoreOnError cache(call.cache);
  Array rows = x;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    MultiHeadAttention::Call to_itself;
    to_itself.causal = call.causal;
    to_itself.mask = call.mask;
    to_itself.padding = call.padding;
    to_itself.cache = call.cache != nullptr ? &call.cache->rows[i] : nullptr;
    to_itself.training = call.training;
    CrossAttention::Call to_memory;
    to_memory.mask = call.memory_mask;
    to_memory.padding = call.memory_padding;
    to_memory.cache = call.cache != nullptr ? &call.cache->memory[i] : nullptr;
    to_memory.training = call.training;
    rows = layers[i].forward(rows, memory, to_itself, to_memory);
  }
  cache.keep();
  return rows;
} catch (const Error& error) {
  throw_as("transformer_decoder", error);
}

TransformerDecoder::Cache TransformerDecoder::make_cache(std::int64_t batch,
                                                         std::int64_t capacity) const {
  Cache cache;
  for (const auto& layer : layers) cache.rows.push_back(cache_of(layer.self_attn, batch, capacity));
  cache.memory.resize(layers.size());
  return cache;
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
