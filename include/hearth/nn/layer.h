// What layers share.
#pragma once

#include <string_view>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Says how layers are applied where one is called as a function.
struct Layer {
  template <class First, class... Others>
  void operator()(First&&, Others&&...) const {
    static_assert(tensor_detail::kNever<First>,
                  "a layer is applied by forward(): layer.forward(x)");
  }
};

// A layer without parameters of `Array apply(const Array&) const`, which keeps the rank.
template <class Self>
struct Plain : Layer {
  Array forward(const Array& x) const { return static_cast<const Self&>(*this).apply(x); }
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Layer, class Visitor>
  static void members(Layer&, Visitor&&) {}
};

// Gives back what it gets.
struct Identity : Plain<Identity> {
  Array apply(const Array& x) const { return x; }
};

// x [batch..., features...] to [batch..., all features], features beginning at axis Start: behind
// one axis of a batch unless said.
//
//   nn::Sequential model(nn::Conv2d(1, 8, 3), nn::Relu(), nn::Flatten(), nn::Linear(5408, 10));
template <int Start = 1>
struct Flatten : Layer {
  static_assert(Start >= 0);

  Array forward(const Array& x) const { return flatten(x, Start, -1); }
  template <int R>
    requires(R > Start)
  Tensor<Start + 1> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Start + 1>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
