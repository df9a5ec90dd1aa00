#include "models/language/blocks/attention.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "hearth/ops.h"

namespace hearth::models {
Rotation::Rotation(const RopeConfig& its_config, const Array& divisors, Device device)
    : config(its_config) {
  if (config.pairs == RopePairs::none) return;
  frequencies = rope_frequencies(config.dims, config.base, config.scaling,
                                 config.has_factors ? divisors : Array(), device);
}

Array Rotation::forward(const Array& x, const Array& positions) const {
  if (config.pairs == RopePairs::none) return x;
  RopeOptions options;
  options.interleaved = config.pairs == RopePairs::neighbours;
  options.dims = config.dims;
  options.positions = positions;
  options.frequencies = frequencies;
  options.magnitude = config.magnitude;
  return swap_axes(rope(swap_axes(x, 0, 1), options), 0, 1);
}

Array with_temperature(const Array& q, const Array& positions,
                       const QueryTemperature& temperature) {
  if (temperature.scale == 0) return q;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // of positions
  const Array periods = floor_divide(positions, std::min(temperature.length, kMost));
  const Array factors = log1p(cast(periods, DType::f32)) * temperature.scale + 1;
  return q * reshape(cast(factors, q.dtype()), {q.shape(0), 1, 1});
}

Attention::Attention(const LanguageConfig& model, const AttentionConfig& its_config,
                     Weights& weights, const std::string& prefix, const Array& divisors,
                     Device device)
    : config(its_config), rotation(its_config.rope, divisors, device) {
  const std::int64_t queries = config.heads * config.key_dim * (config.is_gated ? 2 : 1);
  const std::int64_t keys = config.kv_heads * config.key_dim;
  const std::int64_t values = config.kv_heads * config.value_dim;
  const bool is_shared = config.shared_layer >= 0;
  if (weights.has(prefix + "attn_qkv.weight")) {
    const Projection all =
        weights.projection(prefix + "attn_qkv", queries + keys + values, model.dim);
    query = all.columns(0, queries);
    key = all.columns(queries, keys);
    value = all.columns(queries + keys, values);
  } else {
    query = weights.projection(prefix + "attn_q", queries, model.dim);
    if (!is_shared) {
      key = weights.projection(prefix + "attn_k", keys, model.dim);
      value = config.norms_values
                  ? weights.optional_projection(prefix + "attn_v", values, model.dim)
                  : weights.projection(prefix + "attn_v", values, model.dim);
    }
  }
  if (is_shared) {
    // Files may hold what nothing reads.
    key = value = {};
    for (const char* name : {"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"}) {
      weights.ignore(prefix + name);
    }
  }
  output = weights.projection(prefix + "attn_output", model.dim, config.heads * config.value_dim);
  const std::string of_queries = prefix + "attn_q_norm.weight";
  if (weights.has(of_queries)) {
    const bool is_by_head = weights.shape(of_queries).rank() == 2;
    norms_width = !is_by_head && weights.shape(of_queries) != Shape{config.key_dim};
    const auto norm = [&](const std::string& name, std::int64_t heads) -> Norm {
      if (is_by_head) {
        const Array each = weights.matrix(prefix + name + ".weight", {heads, config.key_dim});
        return {cast(each, weights.compute()), model.norm_epsilon, model.norm};
      }
      const std::int64_t width = norms_width ? heads * config.key_dim : config.key_dim;
      return weights.norm(prefix + name, width, model.norm_epsilon);
    };
    query_norm = norm("attn_q_norm", config.heads);
    if (!is_shared) key_norm = norm("attn_k_norm", config.kv_heads);
  }
  if (config.norms_values && !is_shared) {
    value_norm = {ones({config.value_dim}, weights.compute(), device), model.norm_epsilon};
  }
  sinks = weights.optional_vector(prefix + "attn_sinks.weight", config.heads);
}

namespace {

// bool [width, width]: keys that are further than `reach` rows from each.
Array keys_beyond(std::int64_t reach, std::int64_t width, Device device) {
  const Array places = arange(0, width, 1, DType::i32, device);
  return greater(abs(reshape(places, {width, 1}) - reshape(places, {1, width})), reach);
}

}  // namespace

Array attend_whole_texts(const Array& q, const Array& k, const Array& v, const Batch& batch,
                         const PagedAttentionOptions& options) {
  const std::int64_t rows = q.shape(0), texts = rows / batch.width;
  const auto by_text = [&](const Array& x) {
    return permute(reshape(x, {texts, batch.width, x.shape(1), x.shape(2)}), {0, 2, 1, 3});
  };
  AttentionOptions all;
  all.scale = options.scale;
  all.softcap = options.softcap;
  all.sinks = options.sinks;
  all.lengths = batch.lengths;
  all.causal = !batch.lengths.defined();
  const std::int64_t reach = options.window / 2;  // to both sides
  if (all.causal) {
    all.window = options.window;
  } else if (options.window > 0 && reach < batch.width - 1) {
    all.mask = keys_beyond(reach, batch.width, q.device());
  }
  const Array mixed = attention(by_text(q), by_text(k), by_text(v), all);
  return reshape(permute(mixed, {0, 2, 1, 3}), {rows, q.shape(1), v.shape(2)});
}

Array Attention::clamped(const Array& x) const {
  return config.clamp > 0 ? clamp(x, -config.clamp, config.clamp) : x;
}

Array Attention::turned_heads(const Array& columns, const Norm& norm, std::int64_t heads,
                              const Array& positions) const {
  const Shape split = {columns.shape(0), heads, config.key_dim};
  if (config.norms_turned) {
    return norm.forward(rotation.forward(clamped(reshape(columns, split)), positions));
  }
  const Array normed =
      norms_width ? reshape(norm.forward(columns), split) : norm.forward(reshape(columns, split));
  return rotation.forward(clamped(normed), positions);
}

Attention::Pair Attention::keys_and_values(const Array& x, const Batch& batch) const {
  const Array columns = key.forward(x);
  const Array v = clamped(value.defined() ? value.forward(x) : columns);
  return {turned_heads(columns, key_norm, config.kv_heads, batch.positions),
          value_norm.forward(reshape(v, {x.shape(0), config.kv_heads, config.value_dim}))};
}

Array Attention::forward(const Array& x, const Batch& batch, LayerCache& cache,
                         std::int64_t page_size) const {
  const std::int64_t rows = x.shape(0);
  Array q = query.forward(x);
  Array gate;
  if (config.is_gated) {
    const std::vector<Array> both =
        chunk(reshape(q, {rows, config.heads, 2 * config.key_dim}), 2, 2);
    q = reshape(both[0], {rows, config.heads * config.key_dim});
    gate = both[1];
  }
  q = turned_heads(q, query_norm, config.heads, batch.positions);
  q = with_temperature(q, batch.positions, config.temperature);
  if (config.shared_layer < 0) {
    const auto [k, v] = keys_and_values(x, batch);
    if (batch.width > 0) {
      cache.keys = k;
      cache.values = v;
    } else {
      const Array& slots = cache.keeps_window ? batch.window_slots : batch.slots;
      write_rows(cache.keys, cache.key_type, slots, cache.key_rotation.forward(k));
      write_rows(cache.values, cache.value_type, slots, cache.value_rotation.forward(v));
    }
  }
  PagedAttentionOptions options;
  options.scale = config.scale;
  options.softcap = config.softcap;
  options.window = config.window;
  options.sinks = sinks;
  Array mixed;
  if (batch.width > 0) {
    mixed = attend_whole_texts(q, cache.keys, cache.values, batch, options);
  } else {
    options.key_bits = cache.key_type.bits;
    options.value_bits = cache.value_type.bits;
    mixed = paged_attention(cache.key_rotation.forward(q), readable(cache.keys, cache.key_type),
                            readable(cache.values, cache.value_type),
                            cache.keeps_window ? batch.window_pages : batch.pages, batch.starts,
                            batch.lengths, page_size, options);
    mixed = cache.value_rotation.undo(mixed);
  }
  if (gate.defined()) mixed = mixed * sigmoid(gate);
  return output.forward(reshape(mixed, {rows, config.heads * config.value_dim}));
}

}  // namespace hearth::models
