// Functions of typed tensors for pictures and boxes. `site` is the caller's line.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {

// ---- Morphology
// Of images [..., height, width].

template <int R, TensorKind K>
  requires(R >= 2)
Tensor<R, K> erode(const Tensor<R, K>& x, const Tensor<2, Bool>& kernel,
                   const MorphOptions& options = {}, CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R, K>(hearth::erode(x.array(), kernel.array(), options)); });
}
template <int R, TensorKind K>
  requires(R >= 2)
Tensor<R, K> erode_rectangle(const Tensor<R, K>& x, std::int64_t rows, std::int64_t cols,
                             const MorphOptions& options = {}, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<R, K>(hearth::erode_rectangle(x.array(), rows, cols, options)); });
}
template <int R, TensorKind K>
  requires(R >= 2)
Tensor<R, K> dilate(const Tensor<R, K>& x, const Tensor<2, Bool>& kernel,
                    const MorphOptions& options = {}, CallSite site = CallSite::here()) {
  return located(site,
                 [&] { return Tensor<R, K>(hearth::dilate(x.array(), kernel.array(), options)); });
}
template <int R, TensorKind K>
  requires(R >= 2)
Tensor<R, K> dilate_rectangle(const Tensor<R, K>& x, std::int64_t rows, std::int64_t cols,
                              const MorphOptions& options = {}, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<R, K>(hearth::dilate_rectangle(x.array(), rows, cols, options)); });
}

// ---- On the host

template <int R>
  requires(R >= 2)
Tensor<R, Int> connected_components(const Tensor<R, Bool>& image,
                                    Connectivity connectivity = Connectivity::eight,
                                    CallSite site = CallSite::here()) {
  return located(site, [&] {
    return Tensor<R, Int>(hearth::connected_components(image.array(), connectivity));
  });
}
// Of each label, 0 standing for what is false: its elements, and its first and last rows and
// columns, [..., labels]; and of each image the number of components, [...] or, of one image, [1].
template <int R>
struct ConnectedStats {
  Tensor<R - 1, Int> area;
  Tensor<R - 1, Int> top;
  Tensor<R - 1, Int> left;
  Tensor<R - 1, Int> bottom;
  Tensor<R - 1, Int> right;
  Tensor<(R > 2 ? R - 2 : 1), Int> max_label;
};
template <int R>
  requires(R >= 2)
std::pair<Tensor<R, Int>, ConnectedStats<R>> connected_components_with_stats(
    const Tensor<R, Bool>& image, Connectivity connectivity = Connectivity::eight,
    CallSite site = CallSite::here()) {
  return located(site, [&] {
    auto [labels, stats, count] =
        hearth::connected_components_with_stats(image.array(), connectivity);
    const auto measure = [all = stats](std::int64_t i) {
      return Tensor<R - 1, Int>(hearth::squeeze(hearth::narrow(all, -1, i, 1), {-1}));
    };
    if constexpr (R == 2) count = hearth::reshape(count, {1});
    return std::pair(Tensor<R, Int>(std::move(labels)),
                     ConnectedStats<R>{measure(0), measure(1), measure(2), measure(3), measure(4),
                                       Tensor<(R > 2 ? R - 2 : 1), Int>(std::move(count))});
  });
}
inline Tensor<1, Int> nms(const Tensor<2>& boxes, const Tensor<1>& scores,
                          const NmsOptions& options = {}, CallSite site = CallSite::here()) {
  return located(
      site, [&] { return Tensor<1, Int>(hearth::nms(boxes.array(), scores.array(), options)); });
}

}  // namespace v0
}  // namespace hearth
