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

}  // namespace nn
}  // namespace v0
}  // namespace hearth
