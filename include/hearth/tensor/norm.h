// Functions of typed tensors for the normalisation of channels and for deformable convolution, and
// what Burn's module has of them. What may be undefined in ops.h is an optional tensor. `site` is
// the caller's line.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

template <int R>
Array array_or_none(const std::optional<Tensor<R>>& tensor) {
  return tensor ? tensor->array() : Array();
}

}  // namespace tensor_detail

template <int R>
Tensor<R> l2_norm(const Tensor<R>& x, double epsilon = 1e-6, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::l2_norm(x.array(), epsilon)); });
}

// x [batch, channels, ...], vectors [channels].
template <int R>
Tensor<R> batch_norm(const Tensor<R>& x, const Tensor<1>& mean, const Tensor<1>& variance,
                     const std::optional<Tensor<1>>& weight = std::nullopt,
                     const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5,
                     CallSite site = CallSite::here()) {
  using tensor_detail::array_or_none;
  return located(site, [&] {
    return Tensor<R>(hearth::batch_norm(x.array(), mean.array(), variance.array(),
                                        array_or_none(weight), array_or_none(bias), epsilon));
  });
}
// The result, and the mean and the biased variance of x.
template <int R>
std::tuple<Tensor<R>, Tensor<1>, Tensor<1>> batch_norm_train(
    const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
    const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5,
    CallSite site = CallSite::here()) {
  using tensor_detail::array_or_none;
  return located(site, [&] {
    const auto [out, mean, variance] =
        hearth::batch_norm_train(x.array(), array_or_none(weight), array_or_none(bias), epsilon);
    return std::tuple(Tensor<R>(out), Tensor<1>(mean), Tensor<1>(variance));
  });
}
template <int R>
Tensor<R> group_norm(const Tensor<R>& x, std::int64_t groups,
                     const std::optional<Tensor<1>>& weight = std::nullopt,
                     const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5,
                     CallSite site = CallSite::here()) {
  using tensor_detail::array_or_none;
  return located(site, [&] {
    return Tensor<R>(
        hearth::group_norm(x.array(), groups, array_or_none(weight), array_or_none(bias), epsilon));
  });
}
template <int R>
Tensor<R> instance_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                        const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5,
                        CallSite site = CallSite::here()) {
  using tensor_detail::array_or_none;
  return located(site, [&] {
    return Tensor<R>(
        hearth::instance_norm(x.array(), array_or_none(weight), array_or_none(bias), epsilon));
  });
}
template <int R>
Tensor<R> local_response_norm(const Tensor<R>& x, std::int64_t size, double alpha = 1e-4,
                              double beta = 0.75, double k = 1, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::local_response_norm(x.array(), size, alpha, beta, k));
  });
}

// x [batch, in, height, width], offset and mask beside the positions of the result.
inline Tensor<4> deform_conv2d(const Tensor<4>& x, const Tensor<4>& offset, const Tensor<4>& weight,
                               const std::optional<Tensor<4>>& mask = std::nullopt,
                               const std::optional<Tensor<1>>& bias = std::nullopt,
                               const DeformConvOptions& options = {},
                               CallSite site = CallSite::here()) {
  using tensor_detail::array_or_none;
  return located(site, [&] {
    return Tensor<4>(hearth::deform_conv2d(x.array(), offset.array(), weight.array(),
                                           array_or_none(mask), array_or_none(bias), options));
  });
}

namespace module {
using hearth::batch_norm;
using hearth::batch_norm_train;
using hearth::deform_conv2d;
}  // namespace module

}  // namespace v0
}  // namespace hearth
