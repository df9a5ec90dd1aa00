// Attention to the rows of each sequence, whose keys and values are in the caches.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/batch.h"
#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/language/weights.h"

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

struct Attention {
  Attention() = default;
  // The tensors prefix + "attn_q"...; `divisors` as Rotation has them.
  Attention(const LanguageConfig& model, const AttentionConfig& its_config, Weights& weights,
            const std::string& prefix, const Array& divisors, Device device);

  // x [rows, dim] to the same shape.
  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const;

  // The heads of texts of encoders, side by side.
  Array see_all(const Array& q, const Array& k, const Array& v, const Batch& batch) const;

  AttentionConfig config;
  Projection query, key, value, output;
  Norm query_norm, key_norm;  // of heads, or of all columns before they are split
  bool norms_width = false;
  Array sinks;  // [heads]
  Rotation rotation;
};

}  // namespace hearth::models
