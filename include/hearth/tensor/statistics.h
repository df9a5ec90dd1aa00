// Functions of typed tensors for what values select and for the distribution of elements. A
// dimension that is worked over stays with extent 1. `site` is the caller's line.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

// ---- Selections whose size depends on values

template <int R, TensorKind K>
std::vector<Tensor<1, Int>> nonzero(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.nonzero(site);
}
template <int R, TensorKind K>
Tensor<2, Int> argwhere(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return x.argwhere(site);
}
template <int R, TensorKind K>
Tensor<1, K> mask_select(const Tensor<R, K>& x, const Tensor<R, Bool>& mask,
                         CallSite site = CallSite::here()) {
  return x.mask_select(mask, site);
}
template <int R, TensorKind K>
Tensor<1, K> unique(const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<1, K>(hearth::unique(x.array())); });
}
// The different elements, where each stands first, which of them each element of x is, and how
// often each occurs.
template <int R, TensorKind K>
std::tuple<Tensor<1, K>, Tensor<1, Int>, Tensor<R, Int>, Tensor<1, Int>> unique_all(
    const Tensor<R, K>& x, CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto [values, indices, inverse, counts] = hearth::unique_all(x.array());
    return std::tuple(Tensor<1, K>(std::move(values)), Tensor<1, Int>(std::move(indices)),
                      Tensor<R, Int>(std::move(inverse)), Tensor<1, Int>(std::move(counts)));
  });
}

// ---- Places in sorted rows
// Rows of the values' rank, one for each of theirs, or one row for all.

template <int S, int R, NumericKind K>
  requires(S == R || S == 1)
Tensor<R, Int> searchsorted(const Tensor<S, K>& sorted, const Tensor<R, K>& values,
                            bool right = false, DType dtype = DType::i64,
                            CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, Int>(hearth::searchsorted(sorted.array(), values.array(), right, dtype));
  });
}
template <int R, NumericKind K>
Tensor<R, Int> bucketize(const Tensor<R, K>& values, const Tensor<1, K>& edges, bool right = false,
                         DType dtype = DType::i64, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, Int>(hearth::bucketize(values.array(), edges.array(), right, dtype));
  });
}

// ---- Quantiles and moments

// Of everything: one element for each q.
template <int R>
Tensor<1> quantile(const Tensor<R>& x, const std::vector<double>& q,
                   Interpolation method = Interpolation::linear, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<1>(hearth::quantile(x.array(), q, std::nullopt, false, method)); });
}
// Along `dim`: [number of q, ...].
template <int R>
Tensor<R + 1> quantile(const Tensor<R>& x, const std::vector<double>& q, std::int64_t dim,
                       Interpolation method = Interpolation::linear,
                       CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R + 1>(hearth::quantile(x.array(), q, dim, true, method)); });
}
template <int R>
std::pair<Tensor<R>, Tensor<R>> var_mean(const Tensor<R>& x, const Dims& dims,
                                         std::int64_t correction = 1,
                                         CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::var_mean(x.array(), dims, true, correction);
    return std::pair(Tensor<R>(std::move(both.first)), Tensor<R>(std::move(both.second)));
  });
}

// ---- Counts

template <int R>
Tensor<1, Int> bincount(const Tensor<R, Int>& x, std::int64_t least = 0,
                        std::optional<std::int64_t> length = std::nullopt,
                        CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<1, Int>(hearth::bincount(x.array(), Array(), least, length)); });
}
template <int R, NumericKind K>
Tensor<1, K> bincount(const Tensor<R, Int>& x, const Tensor<R, K>& weights, std::int64_t least = 0,
                      std::optional<std::int64_t> length = std::nullopt,
                      CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<1, K>(hearth::bincount(x.array(), weights.array(), least, length));
  });
}
// Counts and edges.
template <int R>
std::pair<Tensor<1, Int>, Tensor<1>> histogram(const Tensor<R>& x, std::int64_t bins,
                                               const std::optional<Bounds>& bounds = std::nullopt,
                                               CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::histogram(x.array(), bins, bounds);
    return std::pair(Tensor<1, Int>(std::move(both.first)), Tensor<1>(std::move(both.second)));
  });
}
// Sums of weights, and edges.
template <int R, NumericKind K>
std::pair<Tensor<1, K>, Tensor<1>> histogram(const Tensor<R>& x, std::int64_t bins,
                                             const std::optional<Bounds>& bounds,
                                             const Tensor<R, K>& weights,
                                             CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::histogram(x.array(), bins, bounds, weights.array());
    return std::pair(Tensor<1, K>(std::move(both.first)), Tensor<1>(std::move(both.second)));
  });
}
template <int R, NumericKind K>
Tensor<1, Int> histogram_by_edges(const Tensor<R, K>& x, const Tensor<1, K>& edges,
                                  CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<1, Int>(hearth::histogram_by_edges(x.array(), edges.array())); });
}
template <int R, NumericKind K, NumericKind W>
Tensor<1, W> histogram_by_edges(const Tensor<R, K>& x, const Tensor<1, K>& edges,
                                const Tensor<R, W>& weights, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<1, W>(hearth::histogram_by_edges(x.array(), edges.array(), weights.array()));
  });
}

// ---- Drawing by weight

template <int R>
Tensor<R, Int> multinomial(const Tensor<R>& weights, std::int64_t count, bool replacement = false,
                           Generator* source = nullptr, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, Int>(hearth::multinomial(weights.array(), count, replacement, source));
  });
}
template <int R>
Tensor<R, Int> categorical(const Tensor<R>& weights, std::int64_t count,
                           Generator* source = nullptr, CallSite site = CallSite::here()) {
  return weights.categorical(count, source, site);
}

// ---- Softmax of other forms

template <int R>
Tensor<R> softmin(const Tensor<R>& x, std::int64_t dim, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::softmin(x.array(), dim)); });
}
template <int R>
Tensor<R> quiet_softmax(const Tensor<R>& x, std::int64_t dim, CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::quiet_softmax(x.array(), dim)); });
}

namespace activation {
using hearth::quiet_softmax;
using hearth::softmin;
}  // namespace activation

}  // namespace v0
}  // namespace hearth
