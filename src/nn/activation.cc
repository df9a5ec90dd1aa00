#include "hearth/nn/activation.h"

#include <cmath>
#include <string>

#include "core/number_text.h"
#include "core/require.h"
#include "core/throw_as.h"
#include "nn/parameter_dtype.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

struct NamedActivation {
  std::string_view name;
  Array (*apply)(const Array&);
  AnyActivation::Any (*layer)();
};

// A layer with its defaults.
template <class Default>
constexpr NamedActivation named_activation(std::string_view name) {
  return {name, [](const Array& x) { return Default{}.forward(x); },
          [] { return AnyActivation::Any{Default{}}; }};
}

// In the order of Activation.
constexpr NamedActivation kActivations[] = {
    named_activation<Relu>("relu"),
    named_activation<Gelu>("gelu"),
    {"gelu_tanh", [](const Array& x) { return gelu(x, true); },
     [] { return AnyActivation::Any{Gelu(true)}; }},
    named_activation<Silu>("silu"),
    named_activation<Sigmoid>("sigmoid"),
    named_activation<Tanh>("tanh"),
    named_activation<Elu>("elu"),
    named_activation<HardSigmoid>("hard_sigmoid"),
    named_activation<HardSwish>("hard_swish"),
    named_activation<LeakyRelu>("leaky_relu"),
    named_activation<Mish>("mish"),
    named_activation<Relu6>("relu6"),
    named_activation<Selu>("selu"),
    named_activation<Softplus>("softplus"),
    named_activation<Softsign>("softsign"),
    named_activation<Celu>("celu"),
    named_activation<Glu>("glu"),
    named_activation<HardShrink>("hard_shrink"),
    named_activation<Hardtanh>("hardtanh"),
    named_activation<LogSigmoid>("log_sigmoid"),
    named_activation<Shrink>("shrink"),
    named_activation<SoftShrink>("soft_shrink"),
    named_activation<Tanhshrink>("tanhshrink"),
    named_activation<Threshold>("threshold"),
    named_activation<ThresholdedRelu>("thresholded_relu"),
};

const NamedActivation* find(Activation activation) noexcept {
  const auto index = static_cast<std::size_t>(activation);
  return index < std::size(kActivations) ? &kActivations[index] : nullptr;
}

}  // namespace

Array activate(Activation activation, const Array& x) {
  if (const NamedActivation* found = find(activation)) return found->apply(x);
  throw Error(ErrorCode::invalid_argument, "activate: no such activation; got " +
                                               std::to_string(static_cast<int>(activation)) +
                                               ", expected one of Activation");
}

std::string_view name(Activation activation) noexcept {
  const NamedActivation* found = find(activation);
  return found != nullptr ? found->name : "";
}

PRelu::PRelu(std::int64_t channels, double slope, const ParameterOptions& options) try {
  if (channels < 0) {
    throw Error(ErrorCode::invalid_argument, "prelu: negative size; got " +
                                                 std::to_string(channels) +
                                                 " channels, expected a size >= 0");
  }
  weight = Tensor<1>(Initializer::constant(slope).make({channels}, channels, channels, options));
} catch (const Error& error) {
  throw_as("prelu", error);
}

Array PRelu::forward(const Array& x) const {
  return prelu(x, nn_detail::as_dtype_of("prelu", weight, x));
}

RRelu::RRelu(double least, double most) : low(least), high(most) {
  require_in_range(low <= high && std::isfinite(low) && std::isfinite(high), "rrelu", "slopes",
                   number_text(low) + " to " + number_text(high), "finite numbers in order");
}

Array RRelu::forward(const Array& x, bool training, Generator* source) const try {
  if (!training) return leaky_relu(x, low / 2 + high / 2);
  const Array slopes = random_uniform(x.shape(), low, high, x.dtype(), x.device(), source);
  return where(less(x, 0.0), x * slopes, x);
} catch (const Error& error) {
  throw_as("rrelu", error);
}

AnyActivation::AnyActivation(Activation activation) {
  if (const NamedActivation* found = find(activation)) {
    layer = found->layer();
    return;
  }
  throw Error(ErrorCode::invalid_argument, "activation: no such activation; got " +
                                               std::to_string(static_cast<int>(activation)) +
                                               ", expected one of Activation");
}

Array AnyActivation::forward(const Array& x, bool training, Generator* source) const {
  return std::visit(
      [&](const auto& each) {
        if constexpr (requires { each.forward(x, training, source); }) {
          return each.forward(x, training, source);
        } else {
          return each.forward(x);
        }
      },
      layer);
}

SwiGlu::SwiGlu(std::int64_t in, std::int64_t out, const Linear::Options& options) try
    : linear_inner(in, out, options), linear_outer(in, out, options) {
} catch (const Error& error) {
  throw_as("swiglu", error);
}

Array SwiGlu::forward(const Array& x) const try {
  return silu(linear_inner.forward(x)) * linear_outer.forward(x);
} catch (const Error& error) {
  throw_as("swiglu", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
