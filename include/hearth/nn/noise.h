// Noise while training. Rules for all layers: hearth/nn.h.
#pragma once

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/random.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Zeroes elements with `probability` and scales the others by 1 / (1 - probability) while training.
struct HEARTH_API Dropout {
  Array forward(const Array& x, bool training = true, Generator* source = nullptr) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, Generator* source = nullptr,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training, source)); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  template <class First, class... Others>
  void operator()(First&&, Others&&...) const {
    static_assert(tensor_detail::kNever<First>,
                  "a layer is applied by forward(): layer.forward(x)");
  }

  double probability = 0.5;
};

// Adds noise of mean 0 and this deviation while training.
struct HEARTH_API GaussianNoise : Layer {
  // Throws Error{invalid_argument} for a deviation that is negative or not finite.
  explicit GaussianNoise(double its_deviation);

  Array forward(const Array& x, bool training = true, Generator* source = nullptr) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, Generator* source = nullptr,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training, source)); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  double deviation;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
