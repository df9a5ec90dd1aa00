// What each row goes through alone: two products with an activation in between.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/config.h"
#include "models/language/weights.h"

namespace hearth::models {

// Of `up`, and of `gate` where there is one.
Array activate(Activation activation, const Array& gate, const Array& up,
               const XieluConfig& xielu = {});

struct FeedForward {
  FeedForward() = default;
  // The tensors prefix + "ffn_up" + suffix...; without "ffn_gate" those of gate and up may be one.
  FeedForward(const LanguageConfig& model, std::int64_t hidden, Weights& weights,
              const std::string& prefix, const std::string& suffix = "");

  // x [rows, dim] to the same shape.
  Array forward(const Array& x) const;
  bool defined() const { return up.defined(); }

  Activation activation = Activation::silu;
  XieluConfig xielu;
  Projection gate, up, down;  // no gate: the activation is of `up`
};

}  // namespace hearth::models
