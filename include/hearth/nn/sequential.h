// Layers one after another. Rules for all layers: hearth/nn.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Applies layers in order; parameters are named "0.weight", "2.weight"... Ranks are checked when it
// is compiled. Errors of a layer end in its number, `..., in layer 2`.
//
//   nn::Sequential model(nn::Linear(2, 32), nn::Relu(), nn::Dropout{0.1}, nn::Linear(32, 2));
//   auto scores = model.forward(x);
template <class... Layers>
struct Sequential : Layer {
  Sequential() = default;
  explicit Sequential(Layers... its_layers)
    requires(sizeof...(Layers) > 0)
      : layers(std::move(its_layers)...) {}

  // `training` goes to the layers that ask for it, such as Dropout. BatchNorm, which training
  // changes, wants a model that is not const.
  template <class X>
  auto forward(const X& x, bool training = true, CallSite site = CallSite::here()) {
    return located(site, [&] { return after<0>(layers, x, training); });
  }
  template <class X>
  auto forward(const X& x, bool training = true, CallSite site = CallSite::here()) const {
    return located(site, [&] { return after<0>(layers, x, training); });
  }
  // forward() without training, which changes nothing.
  template <class X>
  auto evaluate(const X& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return evaluated<0>(x); });
  }

  template <std::size_t I>
  auto& get() noexcept {
    return std::get<I>(layers);
  }
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(layers);
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visitor(std::to_string(I), std::get<I>(self.layers)), ...);
    }(std::index_sequence_for<Layers...>());
  }

  std::tuple<Layers...> layers;

 private:
  // Becomes a bool and no other number, so that no position or size is taken for `training`.
  struct OnlyBool {
    template <std::same_as<bool> B>
    operator B() const {  // NOLINT(google-explicit-constructor)
      return false;
    }
  };

  template <std::size_t I, class All, class X>
  static auto after(All& all, const X& x, bool training) {
    if constexpr (I == sizeof...(Layers)) {
      return x;
    } else {
      return after<I + 1>(all, in_layer(I, [&] { return one(std::get<I>(all), x, training); }),
                          training);
    }
  }
  template <std::size_t I, class X>
  auto evaluated(const X& x) const {
    if constexpr (I == sizeof...(Layers)) {
      return x;
    } else {
      return evaluated<I + 1>(in_layer(I, [&] { return evaluated_one(std::get<I>(layers), x); }));
    }
  }

  // A layer by itself. Its errors say no line of this header: forward() has the caller's.
  template <class One, class X>
  static auto one(One& layer, const X& x, bool training) {
    constexpr CallSite kNone = CallSite::none();
    if constexpr (requires { layer.forward(x, OnlyBool(), kNone); }) {
      return layer.forward(x, training, kNone);
    } else if constexpr (requires { layer.forward(x, OnlyBool(), nullptr, kNone); }) {
      return layer.forward(x, training, nullptr, kNone);
    } else if constexpr (requires { layer.forward(x, OnlyBool()); }) {
      return layer.forward(x, training);
    } else if constexpr (requires { layer.forward(x, kNone); }) {
      return layer.forward(x, kNone);
    } else {
      return layer.forward(x);
    }
  }
  template <class One, class X>
  static auto evaluated_one(const One& layer, const X& x) {
    if constexpr (requires { layer.evaluate(x, CallSite::none()); }) {
      return layer.evaluate(x, CallSite::none());
    } else if constexpr (requires { layer.evaluate(x); }) {
      return layer.evaluate(x);
    } else {
      return one(layer, x, false);
    }
  }
  // What `record()` returns; its Errors say the layer, by the number that its parameters have.
  template <class F>
  static auto in_layer(std::size_t index, F&& record) {
    try {
      return record();
    } catch (const Error& error) {
      throw_in(error, "layer " + std::to_string(index));
    }
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
