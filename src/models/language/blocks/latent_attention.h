// Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads expand from one
// latent row, and what positions turn is one more key that all heads share. The cache holds the
// latent row and that key; the expansion is folded into queries and results.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/blocks/attention.h"

namespace hearth::models {

struct LatentAttention final : MixerBlock {
  LatentAttention(const LanguageConfig& model, const AttentionConfig& its_config, Weights& weights,
                  const std::string& prefix, const Array& divisors, Device device);

  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const override;

  AttentionConfig config;
  Projection query_low;  // to the rank of queries, where they have one
  Norm query_norm;
  Projection query;      // [heads * key_dim, in]: of a head first what does not turn
  Projection key_value;  // [rank + rope_dims, dim]
  Norm latent_norm;
  Array key_up;    // [heads, rank, what does not turn of a key]
  Array value_up;  // [heads, value_dim, rank]
  Projection output;
  Rotation rotation;
};

}  // namespace hearth::models
