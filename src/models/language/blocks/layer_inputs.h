// What each layer gets of a token for itself, beside what the layer before it gives.
#pragma once

#include <cstdint>
#include <string>

#include "hearth/array.h"
#include "models/language/config.h"
#include "models/language/weights.h"

namespace hearth::models {

// The inputs of all layers.
struct LayerInputs {
  LayerInputs() = default;
  LayerInputs(const LanguageConfig& model, std::int64_t vocabulary, Weights& weights);

  // Tokens i32 [rows] and what their embeddings are, x [rows, dim], to [rows, layers, width].
  Array forward(const Array& tokens, const Array& x) const;
  bool defined() const { return embedding.defined(); }

  std::int64_t width = 0;
  Array embedding;  // [vocabulary, layers * width]
  Projection projection;
  Norm norm;
};

// How a layer takes its input in.
struct LayerInput {
  LayerInput() = default;
  LayerInput(const LanguageConfig& model, Weights& weights, const std::string& prefix);

  // x [rows, dim] and the input [rows, width], to x's shape.
  Array forward(const Array& x, const Array& input) const;
  bool defined() const { return gate.defined(); }

  Activation activation = Activation::silu;
  Projection gate, output;
  Norm post_norm;
};

}  // namespace hearth::models
