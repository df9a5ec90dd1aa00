// Functions of typed tensors that ops.h has of arrays, where they do not follow from the op table
// (tensor_methods.h), and Burn's modules of functions: activation, module and loss.
//
// Arguments have the order of ops.h, results are those of the methods: reductions over `dim` keep
// it. Ranks are those that ops.h says; what may be undefined there is an optional tensor here.
// `place` is the caller's line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "hearth/place.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

// ---- Element by element

template <int R, TensorKind K>
Tensor<R, K> where(const Tensor<R, Bool>& condition, const Tensor<R, K>& a, const Tensor<R, K>& b,
                   Place place = Place::here()) {
  return placed(
      place, [&] { return Tensor<R, K>(hearth::where(condition.array(), a.array(), b.array())); });
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> where(const Tensor<R, Bool>& condition, const Tensor<R, K>& a, N b,
                   Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R, K>(hearth::where(condition.array(), a.array(), tensor_detail::scalar(b)));
  });
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> where(const Tensor<R, Bool>& condition, N a, const Tensor<R, K>& b,
                   Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R, K>(hearth::where(condition.array(), tensor_detail::scalar(a), b.array()));
  });
}
template <int R, NumericKind K>
Tensor<R, K> pow(const Tensor<R, K>& base, const Tensor<R, K>& exponent,
                 Place place = Place::here()) {
  return placed(place, [&] { return Tensor<R, K>(hearth::pow(base.array(), exponent.array())); });
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> pow(const Tensor<R, K>& base, N exponent, Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R, K>(hearth::pow(base.array(), tensor_detail::scalar(exponent)));
  });
}
template <int R, NumericKind K, ScalarOf<K> Low, ScalarOf<K> High>
Tensor<R, K> clamp(const Tensor<R, K>& x, Low low, High high, Place place = Place::here()) {
  return x.clamp(low, high, place);
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> clamp_min(const Tensor<R, K>& x, N low, Place place = Place::here()) {
  return x.clamp_min(low, place);
}
template <int R, NumericKind K, ScalarOf<K> N>
Tensor<R, K> clamp_max(const Tensor<R, K>& x, N high, Place place = Place::here()) {
  return x.clamp_max(high, place);
}
template <int R>
Tensor<R> lerp(const Tensor<R>& a, const Tensor<R>& b, const Tensor<R>& t,
               Place place = Place::here()) {
  return a.lerp(b, t, place);
}
template <int R>
Tensor<R> lerp(const Tensor<R>& a, const Tensor<R>& b, double t, Place place = Place::here()) {
  return a.lerp(b, t, place);
}
template <int R, TensorKind K>
Tensor<R, K> cast(const Tensor<R, K>& x, DType dtype, Place place = Place::here()) {
  return x.cast(dtype, place);
}
template <int R, TensorKind K>
Tensor<R, K> to_device(const Tensor<R, K>& x, Device device, Place place = Place::here()) {
  return x.to_device(device, place);
}
template <int R, TensorKind K>
Tensor<R, K> zeros_like(const Tensor<R, K>& x, Place place = Place::here()) {
  return x.zeros_like(place);
}
template <int R, TensorKind K>
Tensor<R, K> ones_like(const Tensor<R, K>& x, Place place = Place::here()) {
  return x.ones_like(place);
}
template <int R, TensorKind K, ScalarOf<K> N>
Tensor<R, K> full_like(const Tensor<R, K>& x, N value, Place place = Place::here()) {
  return x.full_like(value, place);
}
template <int R, NumericKind K>
Tensor<R, K> triu(const Tensor<R, K>& x, std::int64_t diagonal = 0, Place place = Place::here()) {
  return x.triu(diagonal, place);
}
template <int R, NumericKind K>
Tensor<R, K> tril(const Tensor<R, K>& x, std::int64_t diagonal = 0, Place place = Place::here()) {
  return x.tril(diagonal, place);
}
template <int R>
Tensor<R> gelu(const Tensor<R>& x, bool approximate, Place place = Place::here()) {
  return approximate ? x.gelu_approximate(place) : x.gelu(place);
}
template <int R>
Tensor<R> dropout(const Tensor<R>& x, double probability, bool training = true,
                  Generator* source = nullptr, Place place = Place::here()) {
  return placed(
      place, [&] { return Tensor<R>(hearth::dropout(x.array(), probability, training, source)); });
}

// ---- Along axes

template <int R, NumericKind K>
Tensor<1, K> mean(const Tensor<R, K>& x, Place place = Place::here()) {
  return x.mean(place);
}
template <int R>
Tensor<1> var(const Tensor<R>& x, Place place = Place::here()) {
  return x.var(place);
}
template <int R>
Tensor<1> std(const Tensor<R>& x, Place place = Place::here()) {
  return x.std(place);
}
template <int R, NumericKind K>
Tensor<R, Int> argmax(const Tensor<R, K>& x, std::int64_t dim, Place place = Place::here()) {
  return x.argmax(dim, place);
}
template <int R, NumericKind K>
Tensor<R, Int> argmin(const Tensor<R, K>& x, std::int64_t dim, Place place = Place::here()) {
  return x.argmin(dim, place);
}
template <int R, NumericKind K>
std::pair<Tensor<R, K>, Tensor<R, Int>> max_with_indices(const Tensor<R, K>& x, std::int64_t dim,
                                                         Place place = Place::here()) {
  return x.max_dim_with_indices(dim, place);
}
template <int R, NumericKind K>
std::pair<Tensor<R, K>, Tensor<R, Int>> min_with_indices(const Tensor<R, K>& x, std::int64_t dim,
                                                         Place place = Place::here()) {
  return x.min_dim_with_indices(dim, place);
}
template <int R>
Tensor<R> softmax(const Tensor<R>& x, std::int64_t dim, Place place = Place::here()) {
  return x.softmax(dim, place);
}
template <int R>
Tensor<R> log_softmax(const Tensor<R>& x, std::int64_t dim, Place place = Place::here()) {
  return x.log_softmax(dim, place);
}
template <int R>
Tensor<R> logsumexp(const Tensor<R>& x, std::int64_t dim, Place place = Place::here()) {
  return x.logsumexp(dim, place);
}

// ---- Shape and parts
// Lists of extents and axes say the result's rank: reshape(x, {2, -1}), unsqueeze(x, {0}). Where
// they cannot, it stands first: squeeze<1>(x), flatten<2>(x, 1).

template <int R, TensorKind K, std::size_t N>
Tensor<static_cast<int>(N), K> reshape(const Tensor<R, K>& x, const std::int64_t (&extents)[N],
                                       Place place = Place::here()) {
  return x.reshape(extents, place);
}
template <int R, TensorKind K, std::size_t N>
Tensor<static_cast<int>(N), K> expand(const Tensor<R, K>& x, const std::int64_t (&extents)[N],
                                      Place place = Place::here()) {
  return x.expand(extents, place);
}
template <int R, TensorKind K, std::size_t N>
Tensor<static_cast<int>(N), K> broadcast_to(const Tensor<R, K>& x, const std::int64_t (&extents)[N],
                                            Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<static_cast<int>(N), K>(hearth::broadcast_to(x.array(), Shape(extents, N)));
  });
}
template <int R, TensorKind K>
Tensor<R, K> permute(const Tensor<R, K>& x, const Extents<R>& axes, Place place = Place::here()) {
  return x.permute(axes, place);
}
template <int R, TensorKind K>
Tensor<R, K> swap_axes(const Tensor<R, K>& x, std::int64_t a, std::int64_t b,
                       Place place = Place::here()) {
  return x.swap_dims(a, b, place);
}
template <int To, int R, TensorKind K>
Tensor<To, K> squeeze(const Tensor<R, K>& x, Place place = Place::here()) {
  return x.template squeeze<To>(place);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R - static_cast<int>(N), K> squeeze(const Tensor<R, K>& x, const std::int64_t (&axes)[N],
                                           Place place = Place::here()) {
  return x.template squeeze_dims<R - static_cast<int>(N)>(Dims(axes, N), place);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R + static_cast<int>(N), K> unsqueeze(const Tensor<R, K>& x, const std::int64_t (&axes)[N],
                                             Place place = Place::here()) {
  return x.template unsqueeze_dims<R + static_cast<int>(N)>(Dims(axes, N), place);
}
template <int To, int R, TensorKind K>
Tensor<To, K> flatten(const Tensor<R, K>& x, std::int64_t first = 0, std::int64_t last = -1,
                      Place place = Place::here()) {
  return x.template flatten<To>(first, last, place);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R, K> slice(const Tensor<R, K>& x, const Slice (&slices)[N], Place place = Place::here()) {
  return x.slice(slices, place);
}
template <int R, TensorKind K, std::size_t N>
Tensor<R, K> slice_assign(const Tensor<R, K>& x, const Slice (&slices)[N],
                          const Tensor<R, K>& value, Place place = Place::here()) {
  return x.slice_assign(slices, value, place);
}
template <int R, TensorKind K>
Tensor<R, K> narrow(const Tensor<R, K>& x, std::int64_t dim, std::int64_t start,
                    std::int64_t length, Place place = Place::here()) {
  return x.narrow(dim, start, length, place);
}
template <int R, TensorKind K>
Tensor<R, K> dynamic_slice(const Tensor<R, K>& x, const Extents<R>& starts, const Extents<R>& sizes,
                           Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R, K>(hearth::dynamic_slice(x.array(), starts.shape(), sizes.shape()));
  });
}
template <int R, TensorKind K>
Tensor<R, K> dynamic_slice_assign(const Tensor<R, K>& x, const Extents<R>& starts,
                                  const Tensor<R, K>& value, Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R, K>(hearth::dynamic_slice_assign(x.array(), starts.shape(), value.array()));
  });
}
template <int R, TensorKind K>
Tensor<R, K> flip(const Tensor<R, K>& x, const Dims& dims, Place place = Place::here()) {
  return x.flip(dims, place);
}
template <int R, TensorKind K>
Tensor<R, K> contiguous(const Tensor<R, K>& x, Place place = Place::here()) {
  return x.contiguous(place);
}
template <int R, TensorKind K>
std::vector<Tensor<R, K>> split(const Tensor<R, K>& x, const std::vector<std::int64_t>& sizes,
                                std::int64_t dim, Place place = Place::here()) {
  return x.split_with_sizes(sizes, dim, place);
}
template <int R, TensorKind K>
std::vector<Tensor<R, K>> chunk(const Tensor<R, K>& x, std::int64_t count, std::int64_t dim,
                                Place place = Place::here()) {
  return x.chunk(count, dim, place);
}
template <int R, TensorKind K>
Tensor<R, K> repeat(const Tensor<R, K>& x, const Extents<R>& times, Place place = Place::here()) {
  return x.repeat(times, place);
}
template <int R, TensorKind K>
Tensor<R, K> cat(const std::vector<Tensor<R, K>>& tensors, std::int64_t dim,
                 Place place = Place::here()) {
  return Tensor<R, K>::cat(tensors, dim, place);
}
template <int R, TensorKind K>
Tensor<R, K> cat(std::initializer_list<Tensor<R, K>> tensors, std::int64_t dim,
                 Place place = Place::here()) {
  return Tensor<R, K>::cat(tensors, dim, place);
}
template <int R, TensorKind K>
Tensor<R + 1, K> stack(const std::vector<Tensor<R, K>>& tensors, std::int64_t dim,
                       Place place = Place::here()) {
  return Tensor<R, K>::stack(tensors, dim, place);
}
template <int R, TensorKind K>
Tensor<R + 1, K> stack(std::initializer_list<Tensor<R, K>> tensors, std::int64_t dim,
                       Place place = Place::here()) {
  return Tensor<R, K>::stack(tensors, dim, place);
}
template <int R, TensorKind K>
Tensor<R, K> transpose(const Tensor<R, K>& x, Place place = Place::here()) {
  return x.transpose(place);
}

// ---- Indexing

template <int R, TensorKind K>
Tensor<R, K> gather(const Tensor<R, K>& x, const Tensor<R, Int>& indices, std::int64_t dim,
                    Place place = Place::here()) {
  return x.gather(dim, indices, place);
}
template <int R, TensorKind K>
Tensor<R, K> select(const Tensor<R, K>& x, const Tensor<1, Int>& indices, std::int64_t dim,
                    Place place = Place::here()) {
  return x.select(dim, indices, place);
}
template <int R, TensorKind K>
Tensor<R, K> scatter_add(const Tensor<R, K>& x, const Tensor<R, Int>& indices,
                         const Tensor<R, K>& values, std::int64_t dim,
                         Place place = Place::here()) {
  return x.scatter(dim, indices, values, place);
}
template <int R, TensorKind K>
Tensor<R, K> select_add(const Tensor<R, K>& x, const Tensor<1, Int>& indices,
                        const Tensor<R, K>& values, std::int64_t dim, Place place = Place::here()) {
  return x.select_assign(dim, indices, values, place);
}
template <int R, NumericKind K>
Tensor<R + 1, K> one_hot(const Tensor<R, K>& indices, std::int64_t classes,
                         Place place = Place::here()) {
  return indices.one_hot(classes, place);
}

// ---- Contractions and layers

template <int R, NumericKind K>
Tensor<R, K> matmul(const Tensor<R, K>& a, const Tensor<R, K>& b, Place place = Place::here()) {
  return a.matmul(b, place);
}
template <int R>
Tensor<R> linear(const Tensor<R>& x, const Tensor<2>& weight,
                 const std::optional<Tensor<1>>& bias = std::nullopt, Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R>(hearth::linear(x.array(), weight.array(), bias ? bias->array() : Array()));
  });
}
template <int R>
Tensor<R> layer_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                     const std::optional<Tensor<1>>& bias = std::nullopt, double epsilon = 1e-5,
                     Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R>(hearth::layer_norm(x.array(), weight ? weight->array() : Array(),
                                        bias ? bias->array() : Array(), epsilon));
  });
}
template <int R>
Tensor<R> rms_norm(const Tensor<R>& x, const std::optional<Tensor<1>>& weight = std::nullopt,
                   double epsilon = 1e-5, Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<R>(hearth::rms_norm(x.array(), weight ? weight->array() : Array(), epsilon));
  });
}
template <int R>
Tensor<R + 1> embedding(const Tensor<2>& weight, const Tensor<R, Int>& indices,
                        Place place = Place::here()) {
  return placed(place,
                [&] { return Tensor<R + 1>(hearth::embedding(weight.array(), indices.array())); });
}
template <int R>
Tensor<R> rope(const Tensor<R>& x, const RopeOptions& options = {}, Place place = Place::here()) {
  return placed(place, [&] { return Tensor<R>(hearth::rope(x.array(), options)); });
}
inline Tensor<4> attention(const Tensor<4>& q, const Tensor<4>& k, const Tensor<4>& v,
                           const AttentionOptions& options = {}, Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<4>(hearth::attention(q.array(), k.array(), v.array(), options));
  });
}
// The mean over the rows that count.
template <int R>
Tensor<1> cross_entropy(const Tensor<R>& logits, const Tensor<R - 1, Int>& targets,
                        std::int64_t ignore_index = -100, double label_smoothing = 0,
                        Place place = Place::here()) {
  return placed(place, [&] {
    return Tensor<1>(
        hearth::reshape(hearth::cross_entropy(logits.array(), targets.array(), Reduction::mean,
                                              ignore_index, label_smoothing),
                        {1}));
  });
}

// ---- Burn's modules

namespace activation {
using hearth::gelu;
using hearth::log_softmax;
using hearth::relu;
using hearth::sigmoid;
using hearth::silu;
using hearth::softmax;
using hearth::tanh;
template <int R>
Tensor<R> gelu_approximate(const Tensor<R>& x, Place place = Place::here()) {
  return x.gelu_approximate(place);
}
}  // namespace activation

namespace module {
using hearth::attention;
using hearth::embedding;
using hearth::linear;
}  // namespace module

namespace loss {
inline Tensor<1> cross_entropy_with_logits(const Tensor<2>& logits, const Tensor<1, Int>& targets,
                                           Place place = Place::here()) {
  return placed_as("cross_entropy_with_logits", place,
                   [&] { return cross_entropy(logits, targets); });
}
// Mean of (prediction - target)^2.
template <int R>
Tensor<1> mse(const Tensor<R>& prediction, const Tensor<R>& target, Place place = Place::here()) {
  return placed_as("mse", place, [&] { return prediction.sub(target).square().mean(); });
}
}  // namespace loss

}  // namespace v0
}  // namespace hearth
