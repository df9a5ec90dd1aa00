// Linear maps and tables of vectors. Rules for all layers: hearth/nn.h.
#pragma once

#include <concepts>
#include <cstdint>

#include "hearth/call_site.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// y = x weight^T + bias.
struct HEARTH_API Linear : Layer {
  struct Options {
    bool bias = true;
    Initializer initializer = Initializer::kaiming_uniform();
    ParameterOptions parameters = {};
  };

  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, const Options& options);
  Linear(std::int64_t in, std::int64_t out) : Linear(in, out, Options()) {}
  // What other libraries ask for here.
  template <std::same_as<bool> Bias>
  Linear(std::int64_t, std::int64_t, Bias) {
    static_assert(tensor_detail::kNever<Bias>,
                  "options have names: write Linear(3, 4, {.bias = false})");
  }

  // x [..., in] to [..., out].
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

  Tensor<2> weight;  // [out, in]
  Tensor<1> bias;    // [out], or without a value
};

// A table of vectors.
struct HEARTH_API Embedding : Layer {
  struct Options {
    Initializer initializer = Initializer::normal();
    ParameterOptions parameters = {};
  };

  Embedding() = default;
  Embedding(std::int64_t entries, std::int64_t dim, const Options& options);
  Embedding(std::int64_t entries, std::int64_t dim) : Embedding(entries, dim, Options()) {}

  // Integer indices [...] to [..., dim], in the dtype of the table.
  Array forward(const Array& indices) const;
  template <int R>
  Tensor<R + 1> forward(const Tensor<R, Int>& indices, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R + 1>(forward(indices.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }

  Tensor<2> weight;  // [entries, dim]
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
