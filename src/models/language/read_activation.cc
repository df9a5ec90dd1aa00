#include "models/language/read_activation.h"

#include <string>
#include <string_view>

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
};

// What files call the family's own: its clamped gates are named as those that are not clamped.
Activation named_activation(const Family& family) {
  return family.activation == Activation::clamped_swiglu ? Activation::silu : family.activation;
}

// Convolutions of recurrences have the activation of feed-forwards.
bool has_one_activation(const Family& family) {
  return family.activation == Activation::clamped_swiglu || definition_of(family.mixer).has_states;
}

}  // namespace

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
