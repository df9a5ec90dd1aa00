// Attention to the rows of each sequence, whose keys and values are in the caches.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/mixer.h"

namespace hearth::models {

// Rotary positions of heads.
struct Rotation {
  // Takes the divisors of the model: rope_freqs, or of long texts rope_factors_long.
  Rotation() = default;
  Rotation(const RopeConfig& config, const Array& divisors, Device device);

  // x [rows, heads, dim], whose first columns turn.
  Array forward(const Array& x, const Array& positions) const;

  RopeConfig config;
  Array frequencies;  // f32 [2, dims / 2]
};

// Queries [rows, heads, dim] that have turned, with their temperature.
Array with_temperature(const Array& q, const Array& positions, const QueryTemperature& temperature);

// attention() within whole texts (Batch::width): q [rows, heads, d], k [rows, kv_heads, d], v
// [rows, kv_heads, dv] -> [rows, heads, dv]. Rows see all of their text where it has a length, or
// of a window its half to each side, else what comes before them and themselves; `options` has the
// rest.
Array attend_whole_texts(const Array& q, const Array& k, const Array& v, const Batch& batch,
                         const PagedAttentionOptions& options);

struct Attention final : MixerBlock {
  Attention() = default;
  // The tensors prefix + "attn_q"...; `divisors` as Rotation has them.
  Attention(const LanguageConfig& model, const AttentionConfig& its_config, Weights& weights,
            const std::string& prefix, const Array& divisors, Device device);

  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const override;

  // Keys and values of these rows, [rows, kv_heads, dim].
  struct Pair {
    Array keys, values;
  };
  Pair keys_and_values(const Array& x, const Batch& batch) const;

  // Columns [rows, heads * key_dim] by head, normed and turned.
  Array turned_heads(const Array& columns, const Norm& norm, std::int64_t heads,
                     const Array& positions) const;
  // Within AttentionConfig::clamp.
  Array clamped(const Array& x) const;

  AttentionConfig config;
  Projection query, key, value, output;  // no key: another layer's; no value: keys
  Norm query_norm, key_norm;             // of heads, or of all columns before they are split
  Norm value_norm;                       // of heads
  bool norms_width = false;
  Array sinks;  // [heads]
  Rotation rotation;
};

}  // namespace hearth::models
