#include "models/language/read_activation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_text.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

struct ActivationName {
  std::string_view name;
  Activation activation;
};

constexpr ActivationName kActivationNames[] = {
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"swiglu", Activation::silu},
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_python_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu_accurate", Activation::gelu_tanh},
    {"quick_gelu", Activation::quick_gelu},
    {"relu", Activation::relu},
    {"relu2", Activation::squared_relu},
    {"xielu", Activation::xielu},
};

// What files call the family's own: its clamped gates are named as those that are not clamped.
Activation named_activation(const Family& family) {
  return family.activation == Activation::clamped_swiglu ? Activation::silu : family.activation;
}

// Convolutions of recurrences have the activation of feed-forwards.
bool has_one_activation(const Family& family) {
  return family.activation == Activation::clamped_swiglu || definition_of(family.mixer).has_states;
}

double number_of_layer(const GgufMetadata& metadata, const std::string& key, std::int64_t layer) {
  const GgufValue& value = metadata.at(key);
  const std::vector<double> all = value.is_array() ? value.as_floats(key) : std::vector<double>();
  if (value.is_array() && layer >= std::ssize(all)) {
    throw Error(ErrorCode::invalid_argument,
                key + ": too few values; got " + std::to_string(all.size()) +
                    ", expected one for layer " + std::to_string(layer));
  }
  const double number =
      value.is_array() ? all[static_cast<std::size_t>(layer)] : value.as_float(key);
  if (std::isfinite(number)) return number;
  throw Error(ErrorCode::invalid_argument,
              key + ": not finite; got " + number_text(number) + ", expected a number");
}

double softplus_of(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

XieluConfig read_xielu(const GgufMetadata& metadata, FileKind kind, std::int64_t layer) {
  XieluConfig xielu;
  if (kind == FileKind::folder && metadata.find("xielu.alpha_p") == nullptr) return xielu;
  xielu.linear = number_of_layer(metadata, "xielu.beta", layer);
  xielu.limit = number_of_layer(metadata, "xielu.eps", layer);
  xielu.positive = softplus_of(number_of_layer(metadata, "xielu.alpha_p", layer));
  xielu.negative = xielu.linear + softplus_of(number_of_layer(metadata, "xielu.alpha_n", layer));
  return xielu;
}

Activation read_activation(const Keys& keys, const Family& family) {
  constexpr std::string_view kKey = "hidden_activation";
  if (keys.find(kKey) == nullptr) return family.activation;
  const std::string name = keys.text(kKey, "");
  std::string known;
  for (const ActivationName& each : kActivationNames) {
    const bool is_own = each.activation == named_activation(family);
    if (has_one_activation(family) && !is_own) continue;
    if (each.name == name) return is_own ? family.activation : each.activation;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw Error(ErrorCode::unsupported, keys.full(kKey) + ": another activation; got " +
                                          hearth::quoted(name) + ", expected one of " + known);
}

}  // namespace hearth::models
