// Layers of convolution over one to three spatial axes. As in hearth/nn.h: value structs with
// public parameters, in f32 unless asked otherwise, that compute in the dtype of their input.
#pragma once

#include <concepts>
#include <cstdint>

#include "hearth/call_site.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/ops/conv.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// The extents of a kernel: {3, 5}, or 3 for every axis.
template <int Axes>
struct Kernel {
  Kernel(std::int64_t extent) { extents.fill(extent); }  // NOLINT(google-explicit-constructor)
  template <std::integral... I>
    requires(Axes > 1 && sizeof...(I) == Axes)
  Kernel(I... of_axes) : extents{static_cast<std::int64_t>(of_axes)...} {}  // NOLINT

  ExtentArray<Axes> extents;
};

struct ConvParameters {
  bool bias = true;
  Initializer initializer = Initializer::kaiming_uniform();
  ParameterOptions parameters = {};
};

// conv() with parameters: x [batch, in, spatial...] to [batch, out, positions...].
//
//   nn::Conv2d layer(3, 16, 3, {.stride = {2}, .padding = {1}});
//   nn::Conv2d keeping(3, 16, 4, {.same = true});  // extents stay: 1 zero in front, 2 behind
template <int Axes>
struct HEARTH_API Conv {
  Conv() = default;
  // Throws Error{invalid_argument} for options out of range and groups that do not divide sizes.
  Conv(std::int64_t in, std::int64_t out, const Kernel<Axes>& kernel,
       const ConvOptions& options = {}, const ConvParameters& parameters = {});

  Array forward(const Array& x) const;
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Tensor<Axes + 2> weight;  // [out, in / groups, kernel...]
  Tensor<1> bias;           // [out], or without a value
  ConvOptions window;
};

// conv_transpose() with parameters: x [batch, in, spatial...] to [batch, out, extents...].
template <int Axes>
struct HEARTH_API ConvTranspose {
  ConvTranspose() = default;
  ConvTranspose(std::int64_t in, std::int64_t out, const Kernel<Axes>& kernel,
                const ConvTransposeOptions& options = {}, const ConvParameters& parameters = {});

  Array forward(const Array& x) const;
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Tensor<Axes + 2> weight;  // [in, out / groups, kernel...]
  Tensor<1> bias;           // [out], or without a value
  ConvTransposeOptions window;
};

extern template struct Conv<1>;
extern template struct Conv<2>;
extern template struct Conv<3>;
extern template struct ConvTranspose<1>;
extern template struct ConvTranspose<2>;
extern template struct ConvTranspose<3>;
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace nn
}  // namespace v0
}  // namespace hearth
