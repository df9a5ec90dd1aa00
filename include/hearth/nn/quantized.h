// Modules with quantized parameters, and modules that train for it. Rules for all layers:
// hearth/nn.h.
//
//   const nn::Quantizer q4 = {.scheme = QuantScheme().with_value(QuantValue::q4s).per_block({32}),
//                             .takes = nn::of_matrices};
//   const nn::Quantized model = nn::quantize_weights(trained, q4);
//   Tensor<2> scores = model.forward(x);
//   save_safetensors("q4.safetensors", state_dict(model));
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/parameter.h"
#include "hearth/quantization.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Which parameters of a module are quantized, and how.
struct Quantizer {
  Calibration calibration = Calibration::min_max;
  QuantScheme scheme = {};
  // Of the float parameters those that are taken, by name and value; without it all, as in Burn.
  std::function<bool(const std::string& name, const Array& value)> takes = nullptr;
};

// What Quantizer::takes may be: matrices, tables and kernels, but no bias and no norm's weight.
HEARTH_API bool of_matrices(const std::string& name, const Array& value);

struct NamedQuantizedArray {
  std::string name;
  QuantizedArray array;
};

namespace quantizer_detail {

// Quantizes and evaluates what `quantizer` takes, in order, and leaves a number in its place. Tied
// ones share what is stored. On an error nothing has changed.
HEARTH_API std::vector<NamedQuantizedArray> take(const std::vector<Parameter>& parameters,
                                                 const Quantizer& quantizer);
HEARTH_API void fake(const std::vector<Parameter>& parameters, const Quantizer& quantizer);

template <class Module, class... Inputs>
concept AppliesTo = requires(const Module& constant, const Inputs&... inputs) {
  constant.forward(inputs...);
} || requires(Module& module, const Inputs&... inputs) { module.forward(inputs...); };

// A const module where it can be applied so.
template <class Module, class... Inputs>
auto forward(Module&& module, const Inputs&... inputs) {
  if constexpr (requires { std::as_const(module).forward(inputs...); }) {
    return std::as_const(module).forward(inputs...);
  } else {
    return module.forward(inputs...);
  }
}

}  // namespace quantizer_detail

// A module that keeps codes for parameters. Each call dequantizes them into a copy of the module,
// in the launches of that call: floats are never kept, so what a call changes, as training changes
// BatchNorm's statistics, is lost. Inputs get gradients, codes do not. What is stored of "0.weight"
// are parameters "0.weight.payload", "0.weight.scales" and, of two levels, "0.weight.global".
template <class Module>
class Quantized : public Layer {
 public:
  Quantized() = default;
  // Throws the Error of quantize_dynamic() with the name of the parameter.
  explicit Quantized(Module module, const Quantizer& quantizer = {},
                     CallSite site = CallSite::here())
      : rest_(std::move(module)) {
    located(site, [&] { codes_ = quantizer_detail::take(parameters(rest_), quantizer); });
  }

  template <class X>
  auto forward(const X& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return quantizer_detail::forward(dequantized(), x); });
  }
  template <class First, class Second, class... Others>
    requires(!std::is_same_v<Second, CallSite> &&
             quantizer_detail::AppliesTo<Module, First, Second, Others...>)
  auto forward(const First& first, const Second& second, const Others&... others) const {
    return quantizer_detail::forward(dequantized(), first, second, others...);
  }
  // Of modules that have it, such as Sequential.
  template <class X>
  auto evaluate(const X& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return dequantized().evaluate(x); });
  }

  // The module with floats again, which are recorded and not yet computed.
  Module dequantized() const {
    Module module = rest_;
    std::size_t next = 0;
    visit(module, [&](const std::string& name, Array& array) {
      if (const QuantizedArray* const codes = codes_of(name, next)) array = dequantize(*codes);
    });
    return module;
  }
  // What is quantized, in the order of the module's parameters.
  const std::vector<NamedQuantizedArray>& weights() const noexcept { return codes_; }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    std::size_t next = 0;
    visit(self.rest_, [&](const std::string& name, auto& array) {
      if (auto* const codes = self.codes_of(name, next)) {
        visitor(name, *codes);
      } else {
        visitor(name, array);
      }
    });
  }

 private:
  // The next codes if they have this name, and steps over them.
  const QuantizedArray* codes_of(const std::string& name, std::size_t& next) const {
    return next < codes_.size() && codes_[next].name == name ? &codes_[next++].array : nullptr;
  }
  QuantizedArray* codes_of(const std::string& name, std::size_t& next) {
    return next < codes_.size() && codes_[next].name == name ? &codes_[next++].array : nullptr;
  }

  Module rest_;  // numbers stand for what is quantized
  std::vector<NamedQuantizedArray> codes_;
};

template <class Module>
Quantized<Module> quantize_weights(Module module, const Quantizer& quantizer = {},
                                   CallSite site = CallSite::here()) {
  return Quantized<Module>(std::move(module), quantizer, site);
}

// A copy whose parameters are fake_quantize() of those of `module`, which get the gradients: apply
// it in place of `module` to train for quantization, and step `module`.
template <class Module>
Module fake_quantized(const Module& module, const Quantizer& quantizer = {},
                      CallSite site = CallSite::here()) {
  Module rounded = module;
  located(site, [&] { quantizer_detail::fake(parameters(rounded), quantizer); });
  return rounded;
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
