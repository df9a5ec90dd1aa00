// Activations as layers. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/nn/linear.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// ---- By name
// With the defaults of the functions. PRelu, RRelu and SwiGlu, which have parameters or noise, and
// other options than those defaults are what AnyActivation is for.

enum class Activation : std::uint8_t {
  relu,
  gelu,
  gelu_tanh,
  silu,
  sigmoid,
  tanh,
  elu,
  hard_sigmoid,
  hard_swish,
  leaky_relu,
  mish,
  relu6,
  selu,
  softplus,
  softsign,
  celu,
  glu,  // half as long along the last axis
  hard_shrink,
  hardtanh,
  log_sigmoid,
  shrink,
  soft_shrink,
  tanhshrink,
  threshold,
  thresholded_relu
};
HEARTH_API Array activate(Activation activation, const Array& x);
HEARTH_API std::string_view name(Activation activation) noexcept;

// ---- Layers without parameters
// The functions of hearth/ops/activation.h with their options as members: `nn::LeakyRelu(0.2)`.

struct Relu : Plain<Relu> {
  Array apply(const Array& x) const { return relu(x); }
};
struct Relu6 : Plain<Relu6> {
  Array apply(const Array& x) const { return relu6(x); }
};
struct LeakyRelu : Plain<LeakyRelu> {
  explicit LeakyRelu(double its_negative_slope = 0.01) : negative_slope(its_negative_slope) {}
  Array apply(const Array& x) const { return leaky_relu(x, negative_slope); }
  double negative_slope;
};
struct Gelu : Plain<Gelu> {
  // by tanh
  explicit Gelu(bool its_approximate = false) : approximate(its_approximate) {}
  Array apply(const Array& x) const { return gelu(x, approximate); }
  bool approximate;
};
struct Silu : Plain<Silu> {
  Array apply(const Array& x) const { return silu(x); }
};
struct Mish : Plain<Mish> {
  Array apply(const Array& x) const { return mish(x); }
};
struct Elu : Plain<Elu> {
  explicit Elu(double its_alpha = 1) : alpha(its_alpha) {}
  Array apply(const Array& x) const { return elu(x, alpha); }
  double alpha;
};
struct Celu : Plain<Celu> {
  explicit Celu(double its_alpha = 1) : alpha(its_alpha) {}
  Array apply(const Array& x) const { return celu(x, alpha); }
  double alpha;
};
struct Selu : Plain<Selu> {
  Array apply(const Array& x) const { return selu(x); }
};
struct Sigmoid : Plain<Sigmoid> {
  Array apply(const Array& x) const { return sigmoid(x); }
};
struct LogSigmoid : Plain<LogSigmoid> {
  Array apply(const Array& x) const { return log_sigmoid(x); }
};
struct HardSigmoid : Plain<HardSigmoid> {
  // alpha is Burn's; PyTorch's is 1 / 6
  explicit HardSigmoid(double its_alpha = 0.2, double its_beta = 0.5)
      : alpha(its_alpha), beta(its_beta) {}
  Array apply(const Array& x) const { return hard_sigmoid(x, alpha, beta); }
  double alpha;
  double beta;
};
struct HardSwish : Plain<HardSwish> {
  Array apply(const Array& x) const { return hard_swish(x); }
};
struct Softplus : Plain<Softplus> {
  explicit Softplus(double its_beta = 1) : beta(its_beta) {}
  Array apply(const Array& x) const { return softplus(x, beta); }
  double beta;
};
struct Softsign : Plain<Softsign> {
  Array apply(const Array& x) const { return softsign(x); }
};
struct Tanh : Plain<Tanh> {
  Array apply(const Array& x) const { return tanh(x); }
};
struct Tanhshrink : Plain<Tanhshrink> {
  Array apply(const Array& x) const { return tanhshrink(x); }
};
struct Hardtanh : Plain<Hardtanh> {
  explicit Hardtanh(double its_low = -1, double its_high = 1) : low(its_low), high(its_high) {}
  Array apply(const Array& x) const { return hardtanh(x, low, high); }
  double low;
  double high;
};
struct HardShrink : Plain<HardShrink> {
  explicit HardShrink(double its_lambda = 0.5) : lambda(its_lambda) {}
  Array apply(const Array& x) const { return hard_shrink(x, lambda); }
  double lambda;
};
struct SoftShrink : Plain<SoftShrink> {
  explicit SoftShrink(double its_lambda = 0.5) : lambda(its_lambda) {}
  Array apply(const Array& x) const { return soft_shrink(x, lambda); }
  double lambda;
};
struct Shrink : Plain<Shrink> {
  explicit Shrink(double its_lambda = 0.5, double its_bias = 0)
      : lambda(its_lambda), bias(its_bias) {}
  Array apply(const Array& x) const { return shrink(x, lambda, bias); }
  double lambda;
  double bias;
};
struct Threshold : Plain<Threshold> {
  explicit Threshold(double its_limit = 0, double its_value = 0)
      : limit(its_limit), value(its_value) {}
  Array apply(const Array& x) const { return threshold(x, limit, value); }
  double limit;
  double value;
};
struct ThresholdedRelu : Plain<ThresholdedRelu> {
  explicit ThresholdedRelu(double its_alpha = 1) : alpha(its_alpha) {}
  Array apply(const Array& x) const { return thresholded_relu(x, alpha); }
  double alpha;
};
struct Glu : Plain<Glu> {
  explicit Glu(std::int64_t its_axis = -1) : axis(its_axis) {}
  Array apply(const Array& x) const { return glu(x, axis); }
  std::int64_t axis;
};
struct Softmax : Plain<Softmax> {
  explicit Softmax(std::int64_t its_axis = -1) : axis(its_axis) {}
  Array apply(const Array& x) const { return softmax(x, axis); }
  std::int64_t axis;
};
struct LogSoftmax : Plain<LogSoftmax> {
  explicit LogSoftmax(std::int64_t its_axis = -1) : axis(its_axis) {}
  Array apply(const Array& x) const { return log_softmax(x, axis); }
  std::int64_t axis;
};

// ---- Layers with parameters or noise

// prelu() with its slopes.
struct HEARTH_API PRelu : Layer {
  // One slope for all elements or one for each channel.
  explicit PRelu(std::int64_t channels = 1, double slope = 0.25,
                 const ParameterOptions& options = {});

  // x [batch, channels, ...] or [channels], or of any shape for one slope.
  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }

  Tensor<1> weight;  // [channels]
};

// leaky_relu with a slope for each element, uniform in [low, high] while training, else their mean
// (Xu et al. 2015).
struct HEARTH_API RRelu : Layer {
  // Throws Error{invalid_argument} unless both are finite and low <= high.
  explicit RRelu(double least = 1.0 / 8, double most = 1.0 / 3);

  Array forward(const Array& x, bool training = true, Generator* source = nullptr) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, Generator* source = nullptr,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training, source)); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  double low;
  double high;
};

// silu(linear_inner(x)) * linear_outer(x) (Shazeer 2020).
struct HEARTH_API SwiGlu : Layer {
  SwiGlu() = default;
  SwiGlu(std::int64_t in, std::int64_t out, const Linear::Options& options = {.bias = false});

  // x [..., in] to [..., out].
  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("linear_inner", self.linear_inner);
    visitor("linear_outer", self.linear_outer);
  }

  Linear linear_inner;
  Linear linear_outer;
};

// ---- Chosen at run time

// One of the layers above with its options, as Burn's wrapper. Parameters have the names that they
// have in the layer.
//
//   nn::AnyActivation activation = nn::LeakyRelu(0.2);
struct HEARTH_API AnyActivation : Layer {
  using Any = std::variant<Identity, Relu, Relu6, LeakyRelu, Gelu, Silu, Mish, Elu, Celu, Selu,
                           Sigmoid, LogSigmoid, HardSigmoid, HardSwish, Softplus, Softsign, Tanh,
                           Tanhshrink, Hardtanh, HardShrink, SoftShrink, Shrink, Threshold,
                           ThresholdedRelu, Glu, Softmax, LogSoftmax, PRelu, RRelu, SwiGlu>;

  AnyActivation() = default;  // Identity
  // Throws Error{invalid_argument} for none of Activation.
  AnyActivation(Activation activation);  // NOLINT(google-explicit-constructor)
  template <class Its>
    requires(std::is_base_of_v<Layer, Its> && std::is_constructible_v<Any, Its> &&
             !std::is_same_v<Its, AnyActivation>)
  AnyActivation(Its its_layer) : layer(std::move(its_layer)) {}  // NOLINT

  // `training` and `source` are for RRelu.
  Array forward(const Array& x, bool training = true, Generator* source = nullptr) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, Generator* source = nullptr,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training, source)); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    std::visit([&](auto& each) { std::remove_cvref_t<decltype(each)>::members(each, visitor); },
               self.layer);
  }

  Any layer;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
