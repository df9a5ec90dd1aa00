// What resampling along an axis reads: a sparse matrix for each axis.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/pool/axis_window.h"

namespace hearth {

// How each result of resampling along an axis is made of elements of it.
enum class ResampleRule : std::uint8_t {
  mean,           // of windows, or of bins
  sum,            // of windows
  nearest,        // element floor(o * in / out)
  nearest_exact,  // element floor((o + 1/2) * in / out)
  linear,         // of the two elements around a point, by their distances
  cubic,          // of four, by Keys' cubic with a = -0.75; those outside repeat the border
  lanczos,        // of six, by sinc(t) sinc(t / 3), without those outside, to weights that add to 1
};

// The rule and the extents, as parameters of an op. Lists have one item for each axis.
struct Resampling {
  ResampleRule rule = ResampleRule::nearest;
  // Of mean: padding counts as elements. Of linear, cubic and lanczos: the first and the last
  // elements of input and result lie on each other.
  bool flag = false;
  bool adjoint =
      false;  // the transposed matrices: from an array of `window.positions` to `extents`
  Dims extents;
  PoolWindow window;  // without a kernel but for mean and sum

  Resampling() = default;
  explicit Resampling(ParamReader statics);
  void append_to(Params* params) const;
  Resampling transposed() const {
    Resampling other = *this;
    other.adjoint = !adjoint;
    return other;
  }
  // The spatial extents of the op's input and of its result.
  const Dims& inputs() const { return adjoint ? window.positions : extents; }
  const Dims& results() const { return adjoint ? extents : window.positions; }
};

// Result o is the sum of weight[j] * x[index[j]] for j from begin[o] to begin[o + 1]; indices of a
// result are in order, and no weight is 0.
struct AxisTaps {
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> index;
  std::vector<double> weight;

  std::int64_t results() const { return static_cast<std::int64_t>(begin.size()) - 1; }
  std::int64_t count(std::int64_t o) const {
    return begin[static_cast<std::size_t>(o) + 1] - begin[static_cast<std::size_t>(o)];
  }
};

// More than this along an axis is refused when the op is recorded.
inline constexpr std::int64_t kMaxAxisTaps = std::int64_t{1} << 26;
// At most so many are in the taps of an axis.
std::int64_t most_taps(const Resampling& resampling, int axis);

AxisTaps axis_taps(const Resampling& resampling, int axis);

}  // namespace hearth
