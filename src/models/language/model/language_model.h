// A language model of any family: its layers as its numbers have them, with weights as its files
// hold them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hearth/array.h"
#include "models/language/batch.h"
#include "models/language/blocks/experts.h"
#include "models/language/blocks/feed_forward.h"
#include "models/language/blocks/layer_inputs.h"
#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/language/mixer.h"
#include "models/language/weights.h"

namespace hearth::models {

struct LanguageLayer {
  // x [rows, dim] to the same shape; `input` [rows, width] is the layer's own, where it has one.
  Array forward(const Array& x, const Array& input, const LanguageConfig& model, const Batch& batch,
                LayerCache& cache, std::int64_t page_size) const;

  // Of mixer and transform, with their norms.
  Array forward_blocks(const Array& x, const LanguageConfig& model, const Batch& batch,
                       LayerCache& cache, std::int64_t page_size) const;
  // The feed-forward, the experts, or the sum of both, with the norms before them.
  Array transform(const Array& x) const;
  bool transforms() const { return feed_forward.defined() || experts.defined(); }

  Norm mixer_norm, mixer_post_norm;
  std::shared_ptr<const MixerBlock> mixer;
  Norm feed_forward_norm, feed_forward_post_norm;
  FeedForward feed_forward;
  Experts experts;
  // Of layers with both: behind the feed-forward, before the experts, behind them.
  Norm dense_post_norm, experts_norm, experts_post_norm;
  LayerInput input_block;
  Array output_scale;  // [1], or undefined
};

// Immutable once made: several threads may read from one, each with its own cache.
struct LanguageModel {
  LanguageModel() = default;
  // Takes all of `weights`. Throws Error as Weights does where they do not fit the configuration,
  // and Error{unsupported} for those that are left. `context` is the number of positions that
  // sequences will have at most, which some families scale positions by; 0: what the model was made
  // for.
  LanguageModel(const LanguageConfig& its_config, Weights weights, Device its_device,
                std::int64_t context = 0);

  // Tokens to activations [rows, dim]; joins them to `cache`.
  Array hidden(const Batch& batch, Cache& cache) const;
  // The scores [wanted, vocabulary] of the rows that batch.outputs names, in f32 (f64 if that is
  // what it computes in).
  Array logits(const Batch& batch, Cache& cache) const;

  // The same of activations x [rows, dim], as hidden() gives them.
  Array scores(const Array& x) const;

  std::int64_t vocabulary() const { return token_embedding.shape(0); }

  LanguageConfig config;
  std::int64_t trained_context = 0;  // what config.context is where nothing else is asked for
  DType compute = DType::f32;
  Device device;
  Array token_embedding;     // [vocabulary, dim]
  Array position_embedding;  // [context, dim], or undefined
  Array type_embedding;      // [dim], of texts of the first type, or undefined
  Norm embedding_norm;
  LayerInputs layer_inputs;
  std::vector<LanguageLayer> layers;
  Norm output_norm;
  Projection output;
};

}  // namespace hearth::models
