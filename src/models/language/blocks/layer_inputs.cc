#include "models/language/blocks/layer_inputs.h"

#include <cmath>

#include "hearth/ops.h"
#include "models/language/blocks/feed_forward.h"

namespace hearth::models {
namespace {

double root_of(std::int64_t size) { return std::sqrt(static_cast<double>(size)); }

}  // namespace

LayerInputs::LayerInputs(const LanguageConfig& model, std::int64_t vocabulary, Weights& weights)
    : width(model.layer_input_dim) {
  const std::int64_t all = static_cast<std::int64_t>(model.layers.size()) * width;
  embedding = weights.matrix("per_layer_token_embd.weight", {vocabulary, all});
  projection = weights.projection("per_layer_model_proj", all, model.dim);
  norm = weights.norm("per_layer_proj_norm", width, model.norm_epsilon);
}

Array LayerInputs::forward(const Array& tokens, const Array& x) const {
  const Shape by_layer = {x.shape(0), embedding.shape(1) / width, width};
  const Array own = cast(hearth::embedding(embedding, tokens), x.dtype()) * root_of(width);
  const Array projected = projection.forward(x) * (1 / root_of(x.shape(1)));
  return (norm.forward(reshape(projected, by_layer)) + reshape(own, by_layer)) * std::sqrt(0.5);
}

LayerInput::LayerInput(const LanguageConfig& model, Weights& weights, const std::string& prefix)
    : activation(model.activation),
      gate(weights.projection(prefix + "inp_gate", model.layer_input_dim, model.dim)),
      output(weights.projection(prefix + "proj", model.dim, model.layer_input_dim)),
      post_norm(weights.norm(prefix + "post_norm", model.dim, model.norm_epsilon)) {}

Array LayerInput::forward(const Array& x, const Array& input) const {
  const Array gated = activate(activation, gate.forward(x), input);
  return x + post_norm.forward(output.forward(gated));
}

}  // namespace hearth::models
