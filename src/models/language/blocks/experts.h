// A feed-forward that sends each row through a few of many experts, and through one that all rows
// share.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/blocks/feed_forward.h"
#include "models/language/config.h"
#include "models/language/weights.h"

namespace hearth::models {

struct Experts {
  Experts() = default;
  Experts(const LanguageConfig& model, const ExpertsConfig& its_config, Weights& weights,
          const std::string& prefix);

  // x [rows, dim] to the same shape; experts are chosen by `routed`, of x's shape.
  Array forward(const Array& x, const Array& routed) const;
  bool defined() const { return router.defined(); }

  // Of the chosen experts [rows, used], what `down` reads.
  Array activated(const Array& x, const Array& experts) const;

  // Weights of one shape for each expert.
  struct Stack {
    Array forward(const Array& x, const Array& experts) const;
    Array weight;  // [experts, out, in]
    Array bias;    // [experts, out]
  };

  ExpertsConfig config;
  Activation activation = Activation::silu;
  Norm router_norm;        // of what experts are chosen by
  Projection router;       // [experts, dim]
  Array choice_bias;       // [experts]
  Array down_scale;        // [experts]: of what each gives
  Stack gate, up, down;    // no gate: the activation is of `up`
  bool is_joined = false;  // `up` gives the columns of both, gates first
  Array sum_bias;          // [dim]: added to what the chosen give together
  FeedForward shared;
  Array shared_gate;  // [1, dim]: what the shared expert counts, by sigmoid
};

}  // namespace hearth::models
