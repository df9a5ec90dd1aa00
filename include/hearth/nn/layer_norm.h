// Normalisation of rows. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>

#include "hearth/call_site.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// x / sqrt(mean(x^2) + epsilon) * weight over the last axis. The default epsilon is Burn's;
// PyTorch's is the machine epsilon of x's dtype.
struct HEARTH_API RmsNorm : Layer {
  RmsNorm() = default;
  explicit RmsNorm(std::int64_t dim, double epsilon = 1e-5, const ParameterOptions& options = {});

  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }

  Tensor<1> weight;  // [dim]
  double epsilon = 1e-5;
};

// (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis; biased variance.
struct HEARTH_API LayerNorm : Layer {
  LayerNorm() = default;
  explicit LayerNorm(std::int64_t dim, double epsilon = 1e-5, bool with_bias = true,
                     const ParameterOptions& options = {});

  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Tensor<1> weight;  // [dim]
  Tensor<1> bias;    // [dim], or without a value
  double epsilon = 1e-5;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
