// Functions of typed tensors for pools and images, by Burn's names for each rank too, which its
// module `module` has as well. Arguments have the order of hearth/ops/pool.h and image.h. `site` is
// the caller's line.
#pragma once

#include <cstdint>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops/image.h"
#include "hearth/ops/pool.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

template <int R, NumericKind K>
  requires(R >= 3 && R <= 5)
Tensor<R, K> max_pool(const Tensor<R, K>& x, const Dims& kernel, const PoolOptions& options = {},
                      CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, K>(hearth::max_pool(x.array(), kernel, options)); });
}
template <int R, NumericKind K>
  requires(R >= 3 && R <= 5)
std::pair<Tensor<R, K>, Tensor<R, Int>> max_pool_with_indices(const Tensor<R, K>& x,
                                                              const Dims& kernel,
                                                              const PoolOptions& options = {},
                                                              CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::max_pool_with_indices(x.array(), kernel, options);
    return std::pair(Tensor<R, K>(std::move(both.first)), Tensor<R, Int>(std::move(both.second)));
  });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> max_pool_backward(const Tensor<R>& grad, const Tensor<R, Int>& indices,
                            const Dims& extents, const Dims& kernel,
                            const PoolOptions& options = {}, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R>(
        hearth::max_pool_backward(grad.array(), indices.array(), extents, kernel, options));
  });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> avg_pool(const Tensor<R>& x, const Dims& kernel, const AvgPoolOptions& options = {},
                   CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::avg_pool(x.array(), kernel, options)); });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> lp_pool(const Tensor<R>& x, double p, const Dims& kernel, const PoolOptions& options = {},
                  CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::lp_pool(x.array(), p, kernel, options)); });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> adaptive_avg_pool(const Tensor<R>& x, const Dims& sizes,
                            CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R>(hearth::adaptive_avg_pool(x.array(), sizes)); });
}
template <int R, NumericKind K>
  requires(R >= 3 && R <= 5)
Tensor<R, K> adaptive_max_pool(const Tensor<R, K>& x, const Dims& sizes,
                               CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<R, K>(hearth::adaptive_max_pool(x.array(), sizes)); });
}
template <int R, NumericKind K>
  requires(R >= 3 && R <= 5)
std::pair<Tensor<R, K>, Tensor<R, Int>> adaptive_max_pool_with_indices(
    const Tensor<R, K>& x, const Dims& sizes, CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto both = hearth::adaptive_max_pool_with_indices(x.array(), sizes);
    return std::pair(Tensor<R, K>(std::move(both.first)), Tensor<R, Int>(std::move(both.second)));
  });
}
template <int R>
  requires(R >= 3 && R <= 5)
Tensor<R> interpolate(const Tensor<R>& x, const Dims& sizes,
                      InterpolateMode mode = InterpolateMode::nearest, bool align_corners = true,
                      CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<R>(hearth::interpolate(x.array(), sizes, mode, align_corners)); });
}
inline Tensor<4> grid_sample_2d(const Tensor<4>& x, const Tensor<4>& grid,
                                const GridSampleOptions& options = {},
                                CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<4>(hearth::grid_sample_2d(x.array(), grid.array(), options)); });
}
inline Tensor<4> affine_grid_2d(const Tensor<3>& theta, std::int64_t height, std::int64_t width,
                                bool align_corners = true, CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<4>(hearth::affine_grid_2d(theta.array(), height, width, align_corners));
  });
}
template <TensorKind K>
Tensor<3, K> unfold4d(const Tensor<4, K>& x, const Dims& kernel, const UnfoldOptions& options = {},
                      CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<3, K>(hearth::unfold4d(x.array(), kernel, options)); });
}
template <NumericKind K>
Tensor<4, K> fold4d(const Tensor<3, K>& x, const Dims& sizes, const Dims& kernel,
                    const UnfoldOptions& options = {}, CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<4, K>(hearth::fold4d(x.array(), sizes, kernel, options)); });
}
template <TensorKind K>
Tensor<4, K> pixel_shuffle(const Tensor<4, K>& x, std::int64_t factor,
                           CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<4, K>(hearth::pixel_shuffle(x.array(), factor)); });
}
template <TensorKind K>
Tensor<4, K> pixel_unshuffle(const Tensor<4, K>& x, std::int64_t factor,
                             CallSite site = CallSite::here()) {
  return located(site, [&] { return Tensor<4, K>(hearth::pixel_unshuffle(x.array(), factor)); });
}

// ---- By rank

inline Tensor<3> max_pool1d(const Tensor<3>& x, const Dims& kernel, const PoolOptions& options = {},
                            CallSite site = CallSite::here()) {
  return located_as("max_pool1d", site, [&] { return max_pool(x, kernel, options); });
}
inline Tensor<4> max_pool2d(const Tensor<4>& x, const Dims& kernel, const PoolOptions& options = {},
                            CallSite site = CallSite::here()) {
  return located_as("max_pool2d", site, [&] { return max_pool(x, kernel, options); });
}
inline Tensor<5> max_pool3d(const Tensor<5>& x, const Dims& kernel, const PoolOptions& options = {},
                            CallSite site = CallSite::here()) {
  return located_as("max_pool3d", site, [&] { return max_pool(x, kernel, options); });
}
inline std::pair<Tensor<3>, Tensor<3, Int>> max_pool1d_with_indices(
    const Tensor<3>& x, const Dims& kernel, const PoolOptions& options = {},
    CallSite site = CallSite::here()) {
  return located_as("max_pool1d_with_indices", site,
                    [&] { return max_pool_with_indices(x, kernel, options); });
}
inline std::pair<Tensor<4>, Tensor<4, Int>> max_pool2d_with_indices(
    const Tensor<4>& x, const Dims& kernel, const PoolOptions& options = {},
    CallSite site = CallSite::here()) {
  return located_as("max_pool2d_with_indices", site,
                    [&] { return max_pool_with_indices(x, kernel, options); });
}
inline std::pair<Tensor<5>, Tensor<5, Int>> max_pool3d_with_indices(
    const Tensor<5>& x, const Dims& kernel, const PoolOptions& options = {},
    CallSite site = CallSite::here()) {
  return located_as("max_pool3d_with_indices", site,
                    [&] { return max_pool_with_indices(x, kernel, options); });
}
inline Tensor<3> avg_pool1d(const Tensor<3>& x, const Dims& kernel,
                            const AvgPoolOptions& options = {}, CallSite site = CallSite::here()) {
  return located_as("avg_pool1d", site, [&] { return avg_pool(x, kernel, options); });
}
inline Tensor<4> avg_pool2d(const Tensor<4>& x, const Dims& kernel,
                            const AvgPoolOptions& options = {}, CallSite site = CallSite::here()) {
  return located_as("avg_pool2d", site, [&] { return avg_pool(x, kernel, options); });
}
inline Tensor<5> avg_pool3d(const Tensor<5>& x, const Dims& kernel,
                            const AvgPoolOptions& options = {}, CallSite site = CallSite::here()) {
  return located_as("avg_pool3d", site, [&] { return avg_pool(x, kernel, options); });
}
inline Tensor<3> adaptive_avg_pool1d(const Tensor<3>& x, const Dims& sizes,
                                     CallSite site = CallSite::here()) {
  return located_as("adaptive_avg_pool1d", site, [&] { return adaptive_avg_pool(x, sizes); });
}
inline Tensor<4> adaptive_avg_pool2d(const Tensor<4>& x, const Dims& sizes,
                                     CallSite site = CallSite::here()) {
  return located_as("adaptive_avg_pool2d", site, [&] { return adaptive_avg_pool(x, sizes); });
}
inline Tensor<5> adaptive_avg_pool3d(const Tensor<5>& x, const Dims& sizes,
                                     CallSite site = CallSite::here()) {
  return located_as("adaptive_avg_pool3d", site, [&] { return adaptive_avg_pool(x, sizes); });
}

namespace module {
using hearth::adaptive_avg_pool1d;
using hearth::adaptive_avg_pool2d;
using hearth::adaptive_avg_pool3d;
using hearth::avg_pool1d;
using hearth::avg_pool2d;
using hearth::avg_pool3d;
using hearth::fold4d;
using hearth::interpolate;
using hearth::max_pool1d;
using hearth::max_pool1d_with_indices;
using hearth::max_pool2d;
using hearth::max_pool2d_with_indices;
using hearth::max_pool3d;
using hearth::max_pool3d_with_indices;
using hearth::unfold4d;
}  // namespace module

}  // namespace v0
}  // namespace hearth
