// Layers of pools and of operations on images. As in hearth/nn.h: value structs, these without
// parameters, that compute in the dtype of their input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hearth/nn/conv.h"
#include "hearth/ops/image.h"
#include "hearth/ops/pool.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// max_pool() of x [batch, channels, spatial...].
//
//   nn::MaxPool2d layer{2};
//   nn::MaxPool2d overlapping{3, {.stride = {2}, .padding = {1}}};
//   nn::MaxPool2d keeping{2, {.stride = {1}, .same = true}};  // extents stay
template <int Axes>
struct MaxPool {
  Kernel<Axes> kernel;
  PoolOptions options = {};

  Array forward(const Array& x) const { return max_pool(x, Dims(kernel.extents), options); }
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// avg_pool() of x [batch, channels, spatial...].
template <int Axes>
struct AvgPool {
  Kernel<Axes> kernel;
  AvgPoolOptions options = {};

  Array forward(const Array& x) const { return avg_pool(x, Dims(kernel.extents), options); }
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// adaptive_avg_pool() of x [batch, channels, spatial...] to the extents `sizes`.
template <int Axes>
struct AdaptiveAvgPool {
  Kernel<Axes> sizes;

  Array forward(const Array& x) const { return adaptive_avg_pool(x, Dims(sizes.extents)); }
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// adaptive_max_pool() of x [batch, channels, spatial...] to the extents `sizes`.
template <int Axes>
struct AdaptiveMaxPool {
  Kernel<Axes> sizes;

  Array forward(const Array& x) const { return adaptive_max_pool(x, Dims(sizes.extents)); }
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// interpolate() of x [batch, channels, spatial...] to `sizes`, or where there are none to extents
// times `factors`, rounded down. Error{invalid_argument} without either.
//
//   nn::Interpolate2d layer{.factors = {2, 2}, .mode = InterpolateMode::linear};
template <int Axes>
struct HEARTH_API Interpolate {
  std::optional<ExtentArray<Axes>> sizes = std::nullopt;
  std::optional<std::array<double, static_cast<std::size_t>(Axes)>> factors = std::nullopt;
  InterpolateMode mode = InterpolateMode::nearest;
  bool align_corners = true;  // Burn's; PyTorch's is false

  Array forward(const Array& x) const;
  Tensor<Axes + 2> forward(const Tensor<Axes + 2>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<Axes + 2>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// unfold4d() of x [batch, channels, height, width].
struct Unfold4d {
  Kernel<2> kernel;
  UnfoldOptions options = {};

  Array forward(const Array& x) const { return unfold4d(x, Dims(kernel.extents), options); }
  Tensor<3> forward(const Tensor<4>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// fold4d() of x [batch, channels * kernel elements, windows] to an image of `sizes`.
struct Fold4d {
  Kernel<2> sizes;
  Kernel<2> kernel;
  UnfoldOptions options = {};

  Array forward(const Array& x) const {
    return fold4d(x, Dims(sizes.extents), Dims(kernel.extents), options);
  }
  Tensor<4> forward(const Tensor<3>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<4>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// pixel_shuffle() of x [batch, channels * factor^2, height, width].
struct PixelShuffle {
  std::int64_t factor = 1;

  Array forward(const Array& x) const { return pixel_shuffle(x, factor); }
  Tensor<4> forward(const Tensor<4>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<4>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

// pixel_unshuffle() of x [batch, channels, height * factor, width * factor].
struct PixelUnshuffle {
  std::int64_t factor = 1;

  Array forward(const Array& x) const { return pixel_unshuffle(x, factor); }
  Tensor<4> forward(const Tensor<4>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<4>(forward(x.array())); });
  }
  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}
};

extern template struct Interpolate<1>;
extern template struct Interpolate<2>;
extern template struct Interpolate<3>;
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;
using Interpolate1d = Interpolate<1>;
using Interpolate2d = Interpolate<2>;
using Interpolate3d = Interpolate<3>;

}  // namespace nn
}  // namespace v0
}  // namespace hearth
