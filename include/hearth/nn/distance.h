// Distances between rows. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// The cosine of the angle between a and b along `axis`, which goes; norms count as `epsilon` at
// least.
struct HEARTH_API CosineSimilarity : Layer {
  explicit CosineSimilarity(std::int64_t its_axis = 1, double its_epsilon = 1e-8)
      : axis(its_axis), epsilon(its_epsilon) {}

  Array forward(const Array& a, const Array& b) const;
  template <int R>
    requires(R > 1)
  Tensor<R - 1> forward(const Tensor<R>& a, const Tensor<R>& b,
                        CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R - 1>(forward(a.array(), b.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  std::int64_t axis;
  double epsilon;
};

// The p-norm of a - b + epsilon over the last axis, which goes.
struct HEARTH_API PairwiseDistance : Layer {
  explicit PairwiseDistance(double its_p = 2, double its_epsilon = 1e-6)
      : p(its_p), epsilon(its_epsilon) {}

  Array forward(const Array& a, const Array& b) const;
  template <int R>
    requires(R > 1)
  Tensor<R - 1> forward(const Tensor<R>& a, const Tensor<R>& b,
                        CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R - 1>(forward(a.array(), b.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  double p;
  double epsilon;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
