// Layers one after another. Rules for all layers: hearth/nn.h.
#pragma once

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
// is compiled.
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
  template <std::size_t I, class All, class X>
  static auto after(All& all, const X& x, bool training) {
    if constexpr (I == sizeof...(Layers)) {
      return x;
    } else if constexpr (requires { std::get<I>(all).forward(x, training); }) {
      return after<I + 1>(all, std::get<I>(all).forward(x, training), training);
    } else {
      return after<I + 1>(all, std::get<I>(all).forward(x), training);
    }
  }
  template <std::size_t I, class X>
  auto evaluated(const X& x) const {
    if constexpr (I == sizeof...(Layers)) {
      return x;
    } else if constexpr (requires { std::get<I>(layers).evaluate(x); }) {
      return evaluated<I + 1>(std::get<I>(layers).evaluate(x));
    } else if constexpr (requires { std::get<I>(layers).forward(x, false); }) {
      return evaluated<I + 1>(std::get<I>(layers).forward(x, false));
    } else {
      return evaluated<I + 1>(std::get<I>(layers).forward(x));
    }
  }
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
