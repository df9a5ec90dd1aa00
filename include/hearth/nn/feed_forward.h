// Layers between two attentions. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <optional>

#include "hearth/call_site.h"
#include "hearth/nn/activation.h"
#include "hearth/nn/init.h"
#include "hearth/nn/linear.h"
#include "hearth/nn/noise.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// down(activation(gate(x)) * up(x)): SwiGLU with silu, its default (Shazeer 2020).
struct HEARTH_API FeedForward : Layer {
  struct Options {
    Activation activation = Activation::silu;
    bool bias = false;
    Initializer initializer = Initializer::kaiming_uniform();
    std::optional<Initializer> output_initializer = std::nullopt;
    ParameterOptions parameters = {};
  };

  FeedForward() = default;
  FeedForward(std::int64_t dim, std::int64_t hidden, const Options& options);
  FeedForward(std::int64_t dim, std::int64_t hidden) : FeedForward(dim, hidden, Options()) {}

  // x [..., dim] to the same shape.
  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("gate_proj", self.gate_proj);
    visitor("up_proj", self.up_proj);
    visitor("down_proj", self.down_proj);
  }

  Linear gate_proj;  // dim to hidden
  Linear up_proj;
  Linear down_proj;  // hidden to dim
  Activation activation = Activation::silu;
};

// linear2(dropout(activation(linear1(x)))), the block of a Transformer (Vaswani et al. 2017).
struct HEARTH_API PositionWiseFeedForward : Layer {
  struct Options {
    double dropout = 0.1;
    Activation activation = Activation::gelu;  // Burn's; PyTorch's is relu
    Initializer initializer = Initializer::kaiming_uniform();
    ParameterOptions parameters = {};
  };

  PositionWiseFeedForward() = default;
  PositionWiseFeedForward(std::int64_t dim, std::int64_t hidden, const Options& options);
  PositionWiseFeedForward(std::int64_t dim, std::int64_t hidden)
      : PositionWiseFeedForward(dim, hidden, Options()) {}

  // x [..., dim] to the same shape.
  Array forward(const Array& x, bool training = true) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training)); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("linear1", self.linear1);
    visitor("linear2", self.linear2);
  }

  Linear linear1;  // dim to hidden
  Linear linear2;  // hidden to dim
  Dropout dropout;
  Activation activation = Activation::gelu;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
