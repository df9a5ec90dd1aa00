// Layers that normalise channels. As in hearth/nn.h: value structs with public parameters, in f32
// unless asked otherwise, that compute in the dtype of their input.
#pragma once

#include <cstdint>

#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/parameter.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// batch_norm() with parameters: of x [batch, channels, ...], by the statistics of the batch while
// training, which running_mean and running_var follow, and by those otherwise. The running variance
// follows the biased one, as in Burn.
struct HEARTH_API BatchNorm {
  struct Options {
    double epsilon = 1e-5;
    double momentum = 0.1;  // the share of the newest statistics in the running ones
    ParameterOptions parameters = {};
  };

  BatchNorm() = default;
  BatchNorm(std::int64_t channels, const Options& options);
  explicit BatchNorm(std::int64_t channels) : BatchNorm(channels, Options()) {}

  Array forward(const Array& x, bool training = true);
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, CallSite site = CallSite::here()) {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training)); });
  }
  // forward() without training, which changes nothing.
  Array evaluate(const Array& x) const;
  template <int R>
  Tensor<R> evaluate(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(evaluate(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
    visitor.buffer("running_mean", self.running_mean);
    visitor.buffer("running_var", self.running_var);
  }

  Tensor<1> weight;        // [channels]
  Tensor<1> bias;          // [channels]
  Tensor<1> running_mean;  // [channels], a buffer
  Tensor<1> running_var;   // [channels], a buffer
  double epsilon = 1e-5;
  double momentum = 0.1;
};

struct NormOptions {
  double epsilon = 1e-5;
  bool affine = true;  // whether there are a weight and a bias; PyTorch's InstanceNorm has none
  ParameterOptions parameters = {};
};

// group_norm() with parameters: of x [batch, channels, ...].
struct HEARTH_API GroupNorm {
  GroupNorm() = default;
  // Throws Error{invalid_argument} where groups do not divide channels.
  GroupNorm(std::int64_t groups, std::int64_t channels, const NormOptions& options = {});

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

  Tensor<1> weight;  // [channels], or without a value
  Tensor<1> bias;    // the same
  std::int64_t groups = 1;
  double epsilon = 1e-5;
};

// instance_norm() with parameters: of x [batch, channels, ...].
struct HEARTH_API InstanceNorm {
  InstanceNorm() = default;
  explicit InstanceNorm(std::int64_t channels, const NormOptions& options = {});

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

  Tensor<1> weight;  // [channels], or without a value
  Tensor<1> bias;    // the same
  double epsilon = 1e-5;
};

// local_response_norm() of x [batch, channels, ...].
struct HEARTH_API LocalResponseNorm {
  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
