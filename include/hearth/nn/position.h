// Positions of rows. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <optional>

#include "hearth/call_site.h"
#include "hearth/nn/layer.h"
#include "hearth/ops/attention.h"
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
  struct Options {
    double base = 10000;
    bool interleaved = true;  // pairs are neighbours, as Burn has them; Llama's are not
    std::int64_t dims = 0;    // the first `dims` columns turn, the others stay; 0: all
    RopeScaling scaling = {};
    // Cosines and sines times this; default: rope_magnitude(factor) for yarn, else 1.
    std::optional<double> magnitude = std::nullopt;
    Array frequencies = {};  // as RopeOptions has them, in place of base and scaling
  };

  // Throws Error{invalid_argument} for sizes below 1, an odd dim, a base that is not > 0 and
  // options that rope() and rope_frequencies() refuse.
  RotaryEncoding(std::int64_t its_longest, std::int64_t its_dim, const Options& options);
  RotaryEncoding(std::int64_t its_longest, std::int64_t its_dim, double base = 10000,
                 bool interleaved = true)
      : RotaryEncoding(its_longest, its_dim, Options{base, interleaved}) {}

  // x [..., rows, dim], whose first row is at `start`. Throws Error{shape} beyond `longest`.
  Array forward(const Array& x, std::int64_t start = 0) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, std::int64_t start = 0,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), start)); });
  }
  // The same of rows at integer `positions`, [rows] or [batch, rows], whose values are not read:
  // the caller keeps them below `longest`.
  Array forward(const Array& x, const Array& positions) const;
  template <int R, int P>
  Tensor<R> forward(const Tensor<R>& x, const Tensor<P, Int>& positions,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), positions.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  std::int64_t longest;
  std::int64_t dim;
  RopeOptions rope;  // of each call, but for what that says itself
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
