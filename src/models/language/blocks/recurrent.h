// Mixers with a state of a fixed size in place of keys and values: the gated delta rule of
// Qwen3-Next and the scan of Mamba 2. Both see the rows of a sequence through a short causal
// convolution first.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/batch.h"
#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/language/weights.h"

namespace hearth::models {

// The convolution, whose result goes through silu.
struct RowConvolution {
  RowConvolution() = default;
  RowConvolution(Weights& weights, const std::string& prefix, std::int64_t channels,
                 std::int64_t kernel);

  // x [rows, channels] to the same shape.
  Array forward(const Array& x, const Batch& batch, LayerCache& cache) const;

  Array weight;  // [channels, kernel]
  Array bias;    // [channels], or undefined
};

struct DeltaNet {
  DeltaNet() = default;
  DeltaNet(const LanguageConfig& model, Weights& weights, const std::string& prefix);

  // x [rows, dim] to the same shape.
  Array forward(const Array& x, const Batch& batch, LayerCache& cache) const;
  bool defined() const { return output.defined(); }

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

struct StateScan {
  StateScan() = default;
  StateScan(const LanguageConfig& model, Weights& weights, const std::string& prefix);

  // x [rows, dim] to the same shape.
  Array forward(const Array& x, const Batch& batch, LayerCache& cache) const;
  bool defined() const { return output.defined(); }

  ScanConfig config;
  Projection input;  // gates, what is convolved, and steps
  RowConvolution convolution;
  Array decay;    // [heads]: -e^A
  Array skip;     // [heads]
  Array dt_bias;  // [heads]
  Array norm;     // [groups, columns of a group]
  double epsilon = 1e-5;
  Projection output;
};

}  // namespace hearth::models
