#include "models/language/blocks/feed_forward.h"

#include "hearth/error.h"
#include "hearth/ops.h"

namespace hearth::models {
namespace {

constexpr double kSlope = 1.702;  // of sigmoids in place of gelu's normal distribution

Array xielu_of(const XieluConfig& config, const Array& x) {
  const Array above = x * x * config.positive;
  const Array below = (expm1(minimum(x, config.limit)) - x) * config.negative;
  return where(greater(x, 0), above, below) + x * config.linear;
}

Array activation_of(Activation activation, const Array& x, const XieluConfig& xielu) {
  switch (activation) {
    case Activation::gelu:
      return gelu(x);
    case Activation::gelu_tanh:
      return gelu(x, true);
    case Activation::quick_gelu:
      return x * sigmoid(x * kSlope);
    case Activation::relu:
      return relu(x);
    case Activation::squared_relu:
      return square(relu(x));
    case Activation::silu:
      return silu(x);
    case Activation::xielu:
      return xielu_of(xielu, x);
    case Activation::clamped_swiglu:
      break;
  }
  throw Error(ErrorCode::invalid_argument,
              "feed_forward: an activation of gates; got none, expected ffn_gate beside ffn_up");
}

}  // namespace

Array activate(Activation activation, const Array& gate, const Array& up,
               const XieluConfig& xielu) {
  if (!gate.defined()) return activation_of(activation, up, xielu);
  if (activation == Activation::clamped_swiglu) {
    constexpr double kLimit = 7;
    const Array g = minimum(gate, kLimit);
    return (clamp(up, -kLimit, kLimit) + 1) * (g * sigmoid(g * kSlope));
  }
  return activation_of(activation, gate, xielu) * up;
}

FeedForward::FeedForward(const LanguageConfig& model, std::int64_t hidden, Weights& weights,
                         const std::string& prefix, const std::string& suffix)
    : activation(model.activation) {
  const std::string of_up = prefix + "ffn_up" + suffix;
  const std::string of_gate = prefix + "ffn_gate" + suffix;
  const bool is_joined = !weights.has(of_gate + ".weight") && weights.has(of_up + ".weight") &&
                         weights.shape(of_up + ".weight") == Shape{2 * hidden, model.dim};
  up = weights.projection(of_up, is_joined ? 2 * hidden : hidden, model.dim);
  if (is_joined) {
    gate = up.columns(0, hidden);
    up = up.columns(hidden, hidden);
  } else {
    gate = weights.optional_projection(of_gate, hidden, model.dim);
  }
  down = weights.projection(prefix + "ffn_down" + suffix, model.dim, hidden);
}

Array FeedForward::forward(const Array& x) const {
  const Array gates = gate.defined() ? gate.forward(x) : Array();
  return down.forward(activate(activation, gates, up.forward(x), xielu));
}

}  // namespace hearth::models
