// Positions of rows. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// x plus sines in its even columns and cosines in its odd ones: of row s, columns 2i and 2i + 1,
// the angle s / timescale^(2i / dim) (Vaswani et al. 2017). No parameters.
struct HEARTH_API PositionalEncoding : Layer {
  // Throws Error{invalid_argument} for sizes below 1 and a timescale that is not > 0.
  explicit PositionalEncoding(std::int64_t dim, std::int64_t longest = 5000,
                              double timescale = 10000, Device device = Device());

  // x [..., rows, dim], whose first row is at `start`. Throws Error{shape} beyond `longest`.
  Array forward(const Array& x, std::int64_t start = 0) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, std::int64_t start = 0,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), start)); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  Array table;  // f32 [longest, dim]
};

// rope() for sequences of limited length.
struct HEARTH_API RotaryEncoding : Layer {
  // Throws Error{invalid_argument} for sizes below 1, an odd dim and a base that is not > 0. Pairs
  // are neighbours, as Burn has them; Llama's are not `interleaved`.
  RotaryEncoding(std::int64_t its_longest, std::int64_t its_dim, double its_base = 10000,
                 bool is_interleaved = true);

  // x [..., rows, dim], whose first row is at `start`. Throws Error{shape} beyond `longest`.
  Array forward(const Array& x, std::int64_t start = 0) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, std::int64_t start = 0,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), start)); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  std::int64_t longest;
  std::int64_t dim;
  double base;
  bool interleaved;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
