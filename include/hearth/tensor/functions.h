// Functions of typed tensors that ops.h has of arrays, where they do not follow from the op table
// (tensor/methods.h), and Burn's modules of functions: activation, module and loss.
//
// Arguments have the order of ops.h, results are those of the methods: reductions over `dim` keep
// it. Ranks are those that ops.h says; what may be undefined there is an optional tensor here.
// `site` is the caller's line.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"
#include "hearth/tensor/decompositions.h"
#include "hearth/tensor/einsum.h"
#include "hearth/tensor/experts.h"
#include "hearth/tensor/linalg.h"
#include "hearth/tensor/loss.h"
#include "hearth/tensor/norm.h"
#include "hearth/tensor/pool.h"
#include "hearth/tensor/recurrent.h"
#include "hearth/tensor/signal.h"
#include "hearth/tensor/statistics.h"
#include "hearth/tensor/vision.h"

namespace hearth {
inline namespace v0 {

// ---- Element by element

template <int R, TensorKind K>
Tensor<R, K> where(const Tensor<R, Bool>& condition, const Tensor<R, K>& a, const Tensor<R, K>& b,
                   CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<R, K>(hearth::where(condition.array(), a.array(), b.array())); });
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> where(const Tensor<R, Bool>& condition, const Tensor<R, K>& a, N b,
                   CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::where(condition.array(), a.array(), tensor_detail::scalar(b)));
  });
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> where(const Tensor<R, Bool>& condition, N a, const Tensor<R, K>& b,
                   CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::where(condition.array(), tensor_detail::scalar(a), b.array()));
  });
}
template <int A, int B, TensorKind K, TensorKind L>
Tensor<A, K> max(const Tensor<A, K>&, const Tensor<B, L>&) {
  static_assert(tensor_detail::kNever<K>,
                "max() is over everything: write maximum(a, b) for the larger of each pair");
  return {};
}
template <int A, int B, TensorKind K, TensorKind L>
Tensor<A, K> min(const Tensor<A, K>&, const Tensor<B, L>&) {
  static_assert(tensor_detail::kNever<K>,
                "min() is over everything: write minimum(a, b) for the smaller of each pair");
  return {};
}
// Of two numbers: Int where both are whole, else Float.
template <int R, class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::same_as<A, bool> &&
           !std::same_as<B, bool>)
auto where(const Tensor<R, Bool>& condition, A a, B b, CallSite site = CallSite::here()) {
  using K = std::conditional_t<std::integral<A> && std::integral<B>, Int, Float>;
  return located(site, [&] {
    const Array other = hearth::full({}, tensor_detail::scalar(b), K::kDefault, condition.device());
    return Tensor<R, K>(hearth::where(condition.array(), tensor_detail::scalar(a), other));
  });
}
template <int R, NumericKind K>
Tensor<R, K> pow(const Tensor<R, K>& base, const Tensor<R, K>& exponent,
                 CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, K>(hearth::pow(base.array(), exponent.array())); });
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> pow(const Tensor<R, K>& base, N exponent, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::pow(base.array(), tensor_detail::scalar(exponent)));
  });
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> pow(N base, const Tensor<R, K>& exponent, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::pow(tensor_detail::scalar(base), exponent.array()));
  });
}
template <int R, NumericKind K, ScalarOf<K> Low, ScalarOf<K> High>
Tensor<R, K> clamp(const Tensor<R, K>& x, Low low, High high, CallSite site = CallSite::here()) {
  return x.clamp(low, high, site);
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> clamp_min(const Tensor<R, K>& x, N low, CallSite site = CallSite::here()) {
  return x.clamp_min(low, site);
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> clamp_max(const Tensor<R, K>& x, N high, CallSite site = CallSite::here()) {
  return x.clamp_max(high, site);
}
template <int R>
Tensor<R> lerp(const Tensor<R>& a, const Tensor<R>& b, const Tensor<R>& t,
               CallSite site = CallSite::here()) {
  return a.lerp(b, t, site);
}
template <int R>
Tensor<R> lerp(const Tensor<R>& a, const Tensor<R>& b, double t, CallSite site = CallSite::here()) {
  return a.lerp(b, t, site);
}
template <int R, TensorKind K>
Tensor<R, K> cast(const Tensor<R, K>& x, DType dtype, CallSite site = CallSite::here()) {
  return x.cast(dtype, site);
}
template <int R, TensorKind K>
Tensor<R, K> to_device(const Tensor<R, K>& x, Device device, CallSite site = CallSite::here()) {
  return x.to_device(device, site);
}
template <int R, TensorKind K>
Tensor<R, K> zeros_like(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.zeros_like(site);
}
template <int R, TensorKind K>
Tensor<R, K> ones_like(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.ones_like(site);
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> full_like(const Tensor<R, K>& x, N value, CallSite site = CallSite::here()) {
  return x.full_like(value, site);
}
template <int R, NumericKind K>
Tensor<R, K> triu(const Tensor<R, K>& x, std::int64_t diagonal = 0,
                  CallSite site = CallSite::here()) {
  return x.triu(diagonal, site);
}
template <int R, NumericKind K>
Tensor<R, K> tril(const Tensor<R, K>& x, std::int64_t diagonal = 0,
                  CallSite site = CallSite::here()) {
  return x.tril(diagonal, site);
}
template <int R>
Tensor<R> gelu(const Tensor<R>& x, bool approximate, CallSite site = CallSite::here()) {
  return located_as("gelu", site, [&] { return approximate ? x.gelu_approximate() : x.gelu(); });
}
template <int R>
Tensor<R> dropout(const Tensor<R>& x, double probability, bool training = true,
                  Generator* source = nullptr, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<R>(hearth::dropout(x.array(), probability, training, source)); });
}

// ---- Activations

template <int R>
Tensor<R> prelu(const Tensor<R>& x, const Tensor<1>& weight, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::prelu(x.array(), weight.array())); });
}
template <int R>
Tensor<R> leaky_relu(const Tensor<R>& x, double negative_slope = 0.01,
                     CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::leaky_relu(x.array(), negative_slope)); });
}
template <int R>
Tensor<R> elu(const Tensor<R>& x, double alpha = 1, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::elu(x.array(), alpha)); });
}
template <int R>
Tensor<R> celu(const Tensor<R>& x, double alpha = 1, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::celu(x.array(), alpha)); });
}
template <int R>
Tensor<R> selu(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::selu(x.array())); });
}
template <int R>
Tensor<R> hard_sigmoid(const Tensor<R>& x, double alpha = 0.2, double beta = 0.5,
                       CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::hard_sigmoid(x.array(), alpha, beta)); });
}
template <int R>
Tensor<R> hard_swish(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::hard_swish(x.array())); });
}
template <int R>
Tensor<R> hard_shrink(const Tensor<R>& x, double lambda = 0.5, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::hard_shrink(x.array(), lambda)); });
}
template <int R>
Tensor<R> soft_shrink(const Tensor<R>& x, double lambda = 0.5, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::soft_shrink(x.array(), lambda)); });
}
template <int R>
Tensor<R> shrink(const Tensor<R>& x, double lambda = 0.5, double bias = 0,
                 CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::shrink(x.array(), lambda, bias)); });
}
template <int R>
Tensor<R> thresholded_relu(const Tensor<R>& x, double alpha = 1, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::thresholded_relu(x.array(), alpha)); });
}
template <int R>
Tensor<R> threshold(const Tensor<R>& x, double limit, double value,
                    CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::threshold(x.array(), limit, value)); });
}
template <int R>
Tensor<R> softplus(const Tensor<R>& x, double beta = 1, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::softplus(x.array(), beta)); });
}
template <int R>
Tensor<R> softsign(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::softsign(x.array())); });
}
template <int R>
Tensor<R> mish(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::mish(x.array())); });
}
template <int R>
Tensor<R> log_sigmoid(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::log_sigmoid(x.array())); });
}
template <int R>
Tensor<R> hardtanh(const Tensor<R>& x, double low = -1, double high = 1,
                   CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::hardtanh(x.array(), low, high)); });
}
template <int R>
Tensor<R> relu6(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::relu6(x.array())); });
}
template <int R>
Tensor<R> glu(const Tensor<R>& x, std::int64_t dim = -1, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::glu(x.array(), dim)); });
}
template <int R>
Tensor<R> tanhshrink(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::tanhshrink(x.array())); });
}

// ---- Along axes

template <int R, NumericKind K>
Tensor<1, K> mean(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.mean(site);
}
// Of axes, the method says what to write.
template <int R, NumericKind K, std::integral D, class... More>
Tensor<1, K> mean(const Tensor<R, K>& x, D dim, More...) {
  return x.mean(dim);
}
template <int R, NumericKind K, class D, class... More>
Tensor<1, K> mean(const Tensor<R, K>& x, std::initializer_list<D> dims, More...) {
  return x.mean(dims);
}
template <int R>
Tensor<1> var(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return x.var(site);
}
template <int R>
Tensor<R> var(const Tensor<R>& x, std::int64_t dim, std::int64_t correction = 1,
              CallSite site = CallSite::here()) {
  return x.var(dim, correction, site);
}
template <int R>
Tensor<1> std(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return x.std(site);
}
template <int R>
Tensor<R> std(const Tensor<R>& x, std::int64_t dim, std::int64_t correction = 1,
              CallSite site = CallSite::here()) {
  return x.std(dim, correction, site);
}
template <int R, TensorKind K>
Tensor<R, K> softmax(const Tensor<R, K>&) {
  static_assert(tensor_detail::kNever<K>, "say the dimension: softmax(x, -1)");
  return {};
}
template <int R, TensorKind K>
Tensor<R, K> log_softmax(const Tensor<R, K>&) {
  static_assert(tensor_detail::kNever<K>, "say the dimension: log_softmax(x, -1)");
  return {};
}

// ---- Sorting

template <int R, TensorKind K>
Tensor<R, K> sort(const Tensor<R, K>& x, std::int64_t dim, bool descending = false,
                  CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, K>(hearth::sort(x.array(), dim, descending)); });
}
template <int R, TensorKind K>
Tensor<R, Int> argsort(const Tensor<R, K>& x, std::int64_t dim, bool descending = false,
                       CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, Int>(hearth::argsort(x.array(), dim, descending)); });
}
template <int R, TensorKind K>
std::pair<Tensor<R, K>, Tensor<R, Int>> sort_with_indices(const Tensor<R, K>& x, std::int64_t dim,
                                                          bool descending = false,
                                                          CallSite site = CallSite::here()) {
  return located_as("sort_with_indices", site, [&] {
    return descending ? x.sort_descending_with_indices(dim) : x.sort_with_indices(dim);
  });
}
template <int R, TensorKind K>
Tensor<R, K> topk(const Tensor<R, K>& x, std::int64_t k, std::int64_t dim,
                  CallSite site = CallSite::here()) {
  return x.topk(k, dim, site);
}
template <int R, TensorKind K, std::integral D>
Tensor<R, K> topk(const Tensor<R, K>&, D) {
  static_assert(tensor_detail::kNever<K>, "say the dimension: topk(x, 3, -1)");
  return {};
}
template <int R, TensorKind K>
Tensor<R, Int> argtopk(const Tensor<R, K>& x, std::int64_t k, std::int64_t dim,
                       CallSite site = CallSite::here()) {
  return x.argtopk(k, dim, site);
}
template <int R, TensorKind K>
std::pair<Tensor<R, K>, Tensor<R, Int>> topk_with_indices(const Tensor<R, K>& x, std::int64_t k,
                                                          std::int64_t dim,
                                                          CallSite site = CallSite::here()) {
  return x.topk_with_indices(k, dim, site);
}
template <int R, NumericKind K>
Tensor<R, K> median(const Tensor<R, K>& x, std::int64_t dim, CallSite site = CallSite::here()) {
  return x.median(dim, site);
}
template <int R, NumericKind K>
std::pair<Tensor<R, K>, Tensor<R, Int>> median_with_indices(const Tensor<R, K>& x, std::int64_t dim,
                                                            CallSite site = CallSite::here()) {
  return x.median_with_indices(dim, site);
}

// ---- Shape and parts
// Lists of extents and axes say the result's rank: reshape(x, {2, -1}), unsqueeze(x, {0}). Where
// they cannot, it stands first: squeeze<1>(x), flatten<2>(x, 1).

template <int R, TensorKind K, std::integral I, std::size_t N>
Tensor<static_cast<int>(N), K> reshape(const Tensor<R, K>& x, const I (&extents)[N],
                                       CallSite site = CallSite::here()) {
  return x.reshape(extents, site);
}
template <int R, TensorKind K, std::size_t N>
Tensor<static_cast<int>(N), K> reshape(const Tensor<R, K>& x, const Extent (&extents)[N],
                                       CallSite site = CallSite::here()) {
  return x.reshape(extents, site);
}
template <int R, TensorKind K, std::integral I, std::size_t N>
Tensor<static_cast<int>(N), K> expand(const Tensor<R, K>& x, const I (&extents)[N],
                                      CallSite site = CallSite::here()) {
  return x.expand(extents, site);
}
template <int R, TensorKind K, std::size_t N>
Tensor<static_cast<int>(N), K> expand(const Tensor<R, K>& x, const Extent (&extents)[N],
                                      CallSite site = CallSite::here()) {
  return x.expand(extents, site);
}
template <int R, TensorKind K, std::integral I, std::size_t N>
Tensor<static_cast<int>(N), K> broadcast_to(const Tensor<R, K>& x, const I (&extents)[N],
                                            CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<static_cast<int>(N), K>(
        hearth::broadcast_to(x.array(), tensor_detail::shape_of(extents)));
  });
}
template <int R, TensorKind K, std::size_t N>
Tensor<static_cast<int>(N), K> broadcast_to(const Tensor<R, K>& x, const Extent (&extents)[N],
                                            CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<static_cast<int>(N), K>(
        hearth::broadcast_to(x.array(), tensor_detail::shape_of(extents)));
  });
}
template <int R, TensorKind K>
Tensor<R, K> permute(const Tensor<R, K>& x, const Extents<R>& axes,
                     CallSite site = CallSite::here()) {
  return x.permute(axes, site);
}
template <int R, TensorKind K>
Tensor<R, K> swap_axes(const Tensor<R, K>& x, std::int64_t a, std::int64_t b,
                       CallSite site = CallSite::here()) {
  return located_as("swap_axes", site, [&] { return x.swap_dims(a, b); });
}
template <int To, int R, TensorKind K>
Tensor<To, K> squeeze(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.template squeeze<To>(site);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R - static_cast<int>(N), K> squeeze(const Tensor<R, K>& x, const std::int64_t (&axes)[N],
                                           CallSite site = CallSite::here()) {
  return located_as("squeeze", site, [&] {
    return x.template squeeze_dims<R - static_cast<int>(N)>(Dims(axes, N));
  });
}
template <int R, TensorKind K, std::size_t N>
Tensor<R + static_cast<int>(N), K> unsqueeze(const Tensor<R, K>& x, const std::int64_t (&axes)[N],
                                             CallSite site = CallSite::here()) {
  return located_as("unsqueeze", site, [&] {
    return x.template unsqueeze_dims<R + static_cast<int>(N)>(Dims(axes, N));
  });
}
template <int To, int R, TensorKind K>
Tensor<To, K> flatten(const Tensor<R, K>& x, std::int64_t first = 0, std::int64_t last = -1,
                      CallSite site = CallSite::here()) {
  return x.template flatten<To>(first, last, site);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R, K> slice(const Tensor<R, K>& x, const Slice (&slices)[N],
                   CallSite site = CallSite::here()) {
  return x.slice(slices, site);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R, K> slice_assign(const Tensor<R, K>& x, const Slice (&slices)[N],
                          const Tensor<R, K>& value, CallSite site = CallSite::here()) {
  return x.slice_assign(slices, value, site);
}
template <int R, TensorKind K>
Tensor<R, K> narrow(const Tensor<R, K>& x, std::int64_t dim, std::int64_t start,
                    std::int64_t length, CallSite site = CallSite::here()) {
  return x.narrow(dim, start, length, site);
}
template <int R, TensorKind K>
Tensor<R, K> dynamic_slice(const Tensor<R, K>& x, const Extents<R>& starts, const Extents<R>& sizes,
                           CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::dynamic_slice(x.array(), starts.shape(), sizes.shape()));
  });
}
template <int R, TensorKind K>
Tensor<R, K> dynamic_slice_assign(const Tensor<R, K>& x, const Extents<R>& starts,
                                  const Tensor<R, K>& value, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::dynamic_slice_assign(x.array(), starts.shape(), value.array()));
  });
}
template <int R, TensorKind K>
Tensor<R, K> flip(const Tensor<R, K>& x, const Dims& dims, CallSite site = CallSite::here()) {
  return x.flip(dims, site);
}
template <int R, TensorKind K>
Tensor<R, K> contiguous(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.contiguous(site);
}
template <int R, TensorKind K>
std::vector<Tensor<R, K>> split(const Tensor<R, K>& x, const std::vector<std::int64_t>& sizes,
                                std::int64_t dim, CallSite site = CallSite::here()) {
  return located_as("split", site, [&] { return x.split_with_sizes(sizes, dim); });
}
template <int R, TensorKind K>
std::vector<Tensor<R, K>> chunk(const Tensor<R, K>& x, std::int64_t count, std::int64_t dim,
                                CallSite site = CallSite::here()) {
  return x.chunk(count, dim, site);
}
template <int R, TensorKind K>
Tensor<R, K> repeat(const Tensor<R, K>& x, const Extents<R>& times,
                    CallSite site = CallSite::here()) {
  return x.repeat(times, site);
}
template <int R, TensorKind K>
Tensor<R, K> cat(const std::vector<Tensor<R, K>>& tensors, std::int64_t dim,
                 CallSite site = CallSite::here()) {
  return Tensor<R, K>::cat(tensors, dim, site);
}
template <int R, TensorKind K>
Tensor<R, K> cat(std::initializer_list<Tensor<R, K>> tensors, std::int64_t dim,
                 CallSite site = CallSite::here()) {
  return Tensor<R, K>::cat(tensors, dim, site);
}
template <int R, TensorKind K>
Tensor<R + 1, K> stack(const std::vector<Tensor<R, K>>& tensors, std::int64_t dim,
                       CallSite site = CallSite::here()) {
  return Tensor<R, K>::stack(tensors, dim, site);
}
template <int R, TensorKind K>
Tensor<R + 1, K> stack(std::initializer_list<Tensor<R, K>> tensors, std::int64_t dim,
                       CallSite site = CallSite::here()) {
  return Tensor<R, K>::stack(tensors, dim, site);
}
template <int R, TensorKind K>
Tensor<R, K> transpose(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.transpose(site);
}

template <int R, TensorKind K>
Tensor<R, K> movedim(const Tensor<R, K>& x, const Dims& source, const Dims& destination,
                     CallSite site = CallSite::here()) {
  return x.movedim(source, destination, site);
}
template <int R, TensorKind K, std::integral A, std::integral B>
Tensor<R, K> movedim(const Tensor<R, K>& x, A source, B destination,
                     CallSite site = CallSite::here()) {
  return x.movedim(source, destination, site);
}
template <int R, TensorKind K>
Tensor<R, K> roll(const Tensor<R, K>& x, const Dims& shifts, const Dims& dims,
                  CallSite site = CallSite::here()) {
  return x.roll(shifts, dims, site);
}
template <int R, TensorKind K>
Tensor<R, K> rot90(const Tensor<R, K>& x, std::int64_t times = 1, std::int64_t first = 0,
                   std::int64_t second = 1, CallSite site = CallSite::here()) {
  return x.rot90(times, first, second, site);
}
template <int R, TensorKind K>
Tensor<R, K> repeat_interleave(const Tensor<R, K>& x, std::int64_t times, std::int64_t dim,
                               CallSite site = CallSite::here()) {
  return x.repeat_interleave(times, dim, site);
}
template <int R, TensorKind K>
Tensor<R, K> repeat_interleave(const Tensor<R, K>& x, const std::vector<std::int64_t>& times,
                               std::int64_t dim, CallSite site = CallSite::here()) {
  return x.repeat_interleave(times, dim, site);
}
template <int R, TensorKind K>
Tensor<R + 1, K> unfold(const Tensor<R, K>& x, std::int64_t dim, std::int64_t size,
                        std::int64_t step = 1, CallSite site = CallSite::here()) {
  return x.unfold(dim, size, step, site);
}
template <int R, TensorKind K>
Tensor<R, K> pad(const Tensor<R, K>& x, const Extents<R>& before, const Extents<R>& after,
                 PadMode mode = PadMode::constant, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(hearth::pad(x.array(), before.shape(), after.shape(), mode));
  });
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> pad(const Tensor<R, K>& x, const Extents<R>& before, const Extents<R>& after,
                 PadMode mode, N value, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, K>(
        hearth::pad(x.array(), before.shape(), after.shape(), mode, tensor_detail::scalar(value)));
  });
}
template <int R, TensorKind K>
Tensor<R - 1, K> diagonal(const Tensor<R, K>& x, std::int64_t offset = 0, std::int64_t first = -2,
                          std::int64_t second = -1, CallSite site = CallSite::here()) {
  return x.diagonal(offset, first, second, site);
}
template <int R, TensorKind K>
Tensor<R + 1, K> diag_embed(const Tensor<R, K>& x, std::int64_t offset = 0,
                            CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R + 1, K>(hearth::diag_embed(x.array(), offset)); });
}
// A vector on the diagonal of a matrix; of higher ranks the diagonal.
template <int R, TensorKind K>
Tensor<(R == 1 ? 2 : R - 1), K> diag(const Tensor<R, K>& x, std::int64_t offset = 0,
                                     CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<(R == 1 ? 2 : R - 1), K>(hearth::diag(x.array(), offset)); });
}
template <int R, TensorKind K>
Tensor<R, K> empty_like(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.empty_like(site);
}
// One for each tensor: meshgrid({x, y}) has two.
template <TensorKind K, std::size_t N>
std::array<Tensor<static_cast<int>(N), K>, N> meshgrid(const Tensor<1, K> (&tensors)[N],
                                                       GridIndexing indexing = GridIndexing::matrix,
                                                       CallSite site = CallSite::here()) {
  return located(site, [&] {
    std::vector<Array> arrays;
    for (const Tensor<1, K>& tensor : tensors) arrays.push_back(tensor.array());
    arrays = hearth::meshgrid(arrays, indexing);
    std::array<Tensor<static_cast<int>(N), K>, N> grids;
    for (std::size_t i = 0; i < N; ++i) {
      grids[i] = Tensor<static_cast<int>(N), K>(std::move(arrays[i]));
    }
    return grids;
  });
}

// ---- Indexing

template <int R, int I, TensorKind K>
Tensor<R + I - 1, K> take(const Tensor<R, K>& x, const Tensor<I, Int>& indices, std::int64_t dim,
                          CallSite site = CallSite::here()) {
  return x.take(dim, indices, site);
}
template <int R, NumericKind K, ScalarOf<K> On, ScalarOf<K> Off>
Tensor<R + 1, K> one_hot_fill(const Tensor<R, K>& indices, std::int64_t classes, On on, Off off,
                              std::int64_t dim = -1, CallSite site = CallSite::here()) {
  return indices.one_hot_fill(classes, on, off, dim, site);
}
template <int R, TensorKind K>
Tensor<R, K> scatter(const Tensor<R, K>& x, const Tensor<R, Int>& indices,
                     const Tensor<R, K>& values, std::int64_t dim, IndexingUpdateOp update,
                     CallSite site = CallSite::here()) {
  return x.scatter(dim, indices, values, update, site);
}
template <int R, TensorKind K>
Tensor<R, K> select_assign(const Tensor<R, K>& x, const Tensor<1, Int>& indices,
                           const Tensor<R, K>& values, std::int64_t dim, IndexingUpdateOp update,
                           CallSite site = CallSite::here()) {
  return x.select_assign(dim, indices, values, update, site);
}
template <int To, int R, int I, TensorKind K>
Tensor<To, K> gather_nd(const Tensor<R, K>& x, const Tensor<I, Int>& indices,
                        CallSite site = CallSite::here()) {
  return x.template gather_nd<To>(indices, site);
}
template <int R, int I, int V, TensorKind K>
Tensor<R, K> scatter_nd(const Tensor<R, K>& x, const Tensor<I, Int>& indices,
                        const Tensor<V, K>& values,
                        IndexingUpdateOp update = IndexingUpdateOp::assign,
                        CallSite site = CallSite::here()) {
  return x.scatter_nd(indices, values, update, site);
}
template <int R, NumericKind K>
Tensor<R + 1, K> one_hot(const Tensor<R, K>& indices, std::int64_t classes,
                         CallSite site = CallSite::here()) {
  return indices.one_hot(classes, site);
}

// ---- Contractions and layers

template <int R, NumericKind K>
Tensor<R, K> matmul(const Tensor<R, K>& a, const Tensor<R, K>& b,
                    CallSite site = CallSite::here()) {
  return a.matmul(b, site);
}
template <int R>
Tensor<R> linear(const Tensor<R>& x, const Tensor<2>& weight,
                 const std::optional<Tensor<1>>& bias = std::nullopt,
                 CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::linear(x.array(), weight.array(), bias ? bias->array() : Array()));
  });
}
template <int R>
Tensor<R> layer_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                     const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5,
                     CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::layer_norm(x.array(), weight ? weight->array() : Array(),
                                        bias ? bias->array() : Array(), epsilon));
  });
}
template <int R>
Tensor<R> rms_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                   double epsilon = 1e-5, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(hearth::rms_norm(x.array(), weight ? weight->array() : Array(), epsilon));
  });
}
template <int R>
Tensor<R + 1> embedding(const Tensor<2>& weight, const Tensor<R, Int>& indices,
                        CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R + 1>(hearth::embedding(weight.array(), indices.array())); });
}
template <int R>
Tensor<R> rope(const Tensor<R>& x, const RopeOptions& options = {},
               CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::rope(x.array(), options)); });
}
template <int R>
Tensor<R> hadamard(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::hadamard(x.array())); });
}
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const AttentionOptions& options = {}, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<4>(hearth::attention(q.array(), k.array(), v.array(), options)); });
}
inline std::pair<Tensor<4>, Tensor<3>> attention_with_lse(const Tensor<4>& q, const Tensor<4>& k,
                                                          const Tensor<4>& v,
                                                          const AttentionOptions& options = {},
                                                          CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::attention_with_lse(q.array(), k.array(), v.array(), options);
    return std::pair(Tensor<4>(std::move(both.first)), Tensor<3>(std::move(both.second)));
  });
}
inline std::pair<Tensor<4>, Tensor<4>> attention_with_weights(
    const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
    const AttentionOptions& options = {}, double dropout = 0, CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::attention_with_weights(q.array(), k.array(), v.array(), options, dropout);
    return std::pair(Tensor<4>(std::move(both.first)), Tensor<4>(std::move(both.second)));
  });
}
inline Tensor<3> paged_attention(const Tensor<3>& q, const Tensor<3>& keys, const Tensor<3>& values,
                                 const Tensor<2, Int>& pages, const Tensor<1, Int>& starts,
                                 const Tensor<1, Int>& lengths, std::int64_t page_size,
                                 const PagedAttentionOptions& options = {},
                                 CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<3>(hearth::paged_attention(q.array(), keys.array(), values.array(), pages.array(),
                                             starts.array(), lengths.array(), page_size, options));
  });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> conv(const Tensor<R>& x, const Tensor<R>& weight,
               const std::optional<Tensor<1>>& bias = std::nullopt, const ConvOptions& options = {},
               CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(
        hearth::conv(x.array(), weight.array(), bias ? bias->array() : Array(), options));
  });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> conv_transpose(const Tensor<R>& x, const Tensor<R>& weight,
                         const std::optional<Tensor<1>>& bias = std::nullopt,
                         const ConvTransposeOptions& options = {},
                         CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(
        hearth::conv_transpose(x.array(), weight.array(), bias ? bias->array() : Array(), options));
  });
}
// The same under Burn's and PyTorch's names.
inline Tensor<3> conv1d(const Tensor<3>& x, const Tensor<3>& weight,
                        const std::optional<Tensor<1>>& bias = std::nullopt,
                        const ConvOptions& options = {}, CallSite site = CallSite::here()) {
  return located_as("conv1d", site, [&] { return conv(x, weight, bias, options); });
}
inline Tensor<4> conv2d(const Tensor<4>& x, const Tensor<4>& weight,
                        const std::optional<Tensor<1>>& bias = std::nullopt,
                        const ConvOptions& options = {}, CallSite site = CallSite::here()) {
  return located_as("conv2d", site, [&] { return conv(x, weight, bias, options); });
}
inline Tensor<5> conv3d(const Tensor<5>& x, const Tensor<5>& weight,
                        const std::optional<Tensor<1>>& bias = std::nullopt,
                        const ConvOptions& options = {}, CallSite site = CallSite::here()) {
  return located_as("conv3d", site, [&] { return conv(x, weight, bias, options); });
}
inline Tensor<3> conv_transpose1d(const Tensor<3>& x, const Tensor<3>& weight,
                                  const std::optional<Tensor<1>>& bias = std::nullopt,
                                  const ConvTransposeOptions& options = {},
                                  CallSite site = CallSite::here()) {
  return located_as("conv_transpose1d", site,
                    [&] { return conv_transpose(x, weight, bias, options); });
}
inline Tensor<4> conv_transpose2d(const Tensor<4>& x, const Tensor<4>& weight,
                                  const std::optional<Tensor<1>>& bias = std::nullopt,
                                  const ConvTransposeOptions& options = {},
                                  CallSite site = CallSite::here()) {
  return located_as("conv_transpose2d", site,
                    [&] { return conv_transpose(x, weight, bias, options); });
}
inline Tensor<5> conv_transpose3d(const Tensor<5>& x, const Tensor<5>& weight,
                                  const std::optional<Tensor<1>>& bias = std::nullopt,
                                  const ConvTransposeOptions& options = {},
                                  CallSite site = CallSite::here()) {
  return located_as("conv_transpose3d", site,
                    [&] { return conv_transpose(x, weight, bias, options); });
}

// ---- Burn's modules

namespace activation {
using hearth::celu;
using hearth::elu;
using hearth::gelu;
using hearth::glu;
using hearth::hard_shrink;
using hearth::hard_sigmoid;
using hearth::hard_swish;
using hearth::hardtanh;
using hearth::leaky_relu;
using hearth::log_sigmoid;
using hearth::log_softmax;
using hearth::mish;
using hearth::prelu;
using hearth::relu;
using hearth::relu6;
using hearth::selu;
using hearth::shrink;
using hearth::sigmoid;
using hearth::silu;
using hearth::soft_shrink;
using hearth::softmax;
using hearth::softplus;
using hearth::softsign;
using hearth::tanh;
using hearth::tanhshrink;
using hearth::threshold;
using hearth::thresholded_relu;
template <int R>
Tensor<R> gelu_approximate(const Tensor<R>& x, CallSite site = CallSite::here()) {
  return x.gelu_approximate(site);
}
}  // namespace activation

namespace grid {
using hearth::meshgrid;
// The grids side by side in a new last dimension.
template <TensorKind K, std::size_t N>
Tensor<static_cast<int>(N) + 1, K> meshgrid_stack(const Tensor<1, K> (&tensors)[N],
                                                  GridIndexing indexing = GridIndexing::matrix,
                                                  CallSite site = CallSite::here()) {
  return located_as("meshgrid_stack", site, [&] {
    const auto grids = hearth::meshgrid(tensors, indexing);
    return Tensor<static_cast<int>(N), K>::stack({grids.begin(), grids.end()}, -1);
  });
}
}  // namespace grid

namespace module {
using hearth::attention;
using hearth::embedding;
using hearth::linear;
}  // namespace module

namespace loss {
// Mean of (prediction - target)^2; Error{shape} unless both have one shape.
template <int R>
Tensor<1> mse(const Tensor<R>& prediction, const Tensor<R>& target,
              CallSite site = CallSite::here()) {
  return located_as("mse", site, [&] {
    if (prediction.shape() != target.shape()) {
      throw Error(ErrorCode::shape, "mse: target of another shape; got " +
                                        to_string(target.shape()) + ", expected " +
                                        to_string(prediction.shape()));
    }
    return prediction.sub(target).square().mean();
  });
}
}  // namespace loss

}  // namespace v0
}  // namespace hearth
