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
};

// In the order of Activation.
constexpr NamedActivation kActivations[] = {
    {"relu", [](const Array& x) { return relu(x); }},
    {"gelu", [](const Array& x) { return gelu(x); }},
    {"gelu_tanh", [](const Array& x) { return gelu(x, true); }},
    {"silu", [](const Array& x) { return silu(x); }},
    {"sigmoid", [](const Array& x) { return sigmoid(x); }},
    {"tanh", [](const Array& x) { return tanh(x); }},
    {"elu", [](const Array& x) { return elu(x); }},
    {"hard_sigmoid", [](const Array& x) { return hard_sigmoid(x); }},
    {"hard_swish", [](const Array& x) { return hard_swish(x); }},
    {"leaky_relu", [](const Array& x) { return leaky_relu(x); }},
    {"mish", [](const Array& x) { return mish(x); }},
    {"relu6", [](const Array& x) { return relu6(x); }},
    {"selu", [](const Array& x) { return selu(x); }},
    {"softplus", [](const Array& x) { return softplus(x); }},
    {"softsign", [](const Array& x) { return softsign(x); }},
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

Array PRelu::forward(const Array& x) const { return prelu(x, nn_detail::as_dtype_of(weight, x)); }

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
