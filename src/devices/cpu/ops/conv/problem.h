// What kernels of convolutions share: the problem with three spatial axes, the strides of its
// input, and runs of positions that meet elements of the input side by side.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/integer_math.h"
#include "graph/implementation.h"
#include "hearth/shape.h"
#include "ops/conv/window.h"

namespace hearth::cpu {

// Fewer axes stand behind axes of one element.
struct ConvProblem {
  using Extents = std::array<std::int64_t, 3>;

  // Of shapes [batch, channels, spatial...].
  ConvProblem(const Shape& x, const Dims& kernel, const Dims& result, std::int64_t outputs,
              const ConvWindow& window)
      : batch(x[0]), groups(window.groups), in(x[1] / window.groups), out(outputs / window.groups) {
    const int axes = window.axes(), skip = 3 - axes;
    for (int i = 0; i < axes; ++i) {
      const auto at = static_cast<std::size_t>(skip + i);
      input[at] = x[i + 2];
      taps_of[at] = kernel[i];
      result_of[at] = result[i];
      stride[at] = window.stride[i];
      before[at] = window.before[i];
      dilation[at] = window.dilation[i];
    }
    inputs = input[0] * input[1] * input[2];
    taps = taps_of[0] * taps_of[1] * taps_of[2];
    positions = result_of[0] * result_of[1] * result_of[2];
  }

  // Each position meets the one element of the input that lies where it does.
  bool is_pointwise() const {
    return taps == 1 && stride == Extents{1, 1, 1} && before == Extents{0, 0, 0} &&
           result_of == input;
  }
  double flops() const {
    return 2.0 * static_cast<double>(batch * groups * out * positions) *
           static_cast<double>(in * taps);
  }

  std::int64_t batch, groups;
  std::int64_t in, out;  // channels of a group
  Extents input = {1, 1, 1}, taps_of = {1, 1, 1}, result_of = {1, 1, 1};
  Extents stride = {1, 1, 1}, before = {0, 0, 0}, dilation = {1, 1, 1};
  std::int64_t inputs = 1, taps = 1, positions = 1;
};

// Positions that follow one another along the last axis, and what one element of the kernel meets
// there: position `first + j` meets column `column + j * stride` of row (plane, row) of the input
// for j in [begin, end), and padding elsewhere.
struct ConvRun {
  std::int64_t first, count;  // counted from the first position that was asked for
  std::int64_t plane, row, column;
  std::int64_t begin, end;
};

// Calls body(run) for the positions [first, first + count) as element `tap` of the kernel meets
// them.
template <class Body>
void for_runs(const ConvProblem& p, std::int64_t tap, std::int64_t first, std::int64_t count,
              const Body& body) {
  const std::int64_t tap2 = tap % p.taps_of[2], tap1 = tap / p.taps_of[2] % p.taps_of[1],
                     tap0 = tap / p.taps_of[2] / p.taps_of[1];
  const std::int64_t width = p.result_of[2], step = p.stride[2];
  // Columns of the input that position 0 of a row meets, and the positions that meet any.
  const std::int64_t column = tap2 * p.dilation[2] - p.before[2];
  const std::int64_t least = column >= 0 ? 0 : ceil_div(-column, step);
  const std::int64_t end = column >= p.input[2] ? 0 : (p.input[2] - 1 - column) / step + 1;
  std::int64_t o2 = first % width, o1 = first / width % p.result_of[1],
               o0 = first / width / p.result_of[1];
  for (std::int64_t done = 0; done < count;) {
    ConvRun run{};
    run.first = done;
    run.count = std::min(width - o2, count - done);
    run.plane = o0 * p.stride[0] - p.before[0] + tap0 * p.dilation[0];
    run.row = o1 * p.stride[1] - p.before[1] + tap1 * p.dilation[1];
    run.column = column + o2 * step;
    if (run.plane >= 0 && run.plane < p.input[0] && run.row >= 0 && run.row < p.input[1]) {
      run.begin = std::clamp<std::int64_t>(least - o2, 0, run.count);
      run.end = std::clamp<std::int64_t>(end - o2, run.begin, run.count);
    }
    body(run);
    done += run.count;
    o2 = 0;
    if (++o1 == p.result_of[1]) {
      o1 = 0;
      ++o0;
    }
  }
}

// The strides of x over its channels and its three spatial axes.
struct ConvStrides {
  explicit ConvStrides(const TensorSpec& x) : batch(x.strides[0]), channel(x.strides[1]) {
    const int axes = x.shape.rank() - 2;
    for (int i = 0; i < axes; ++i) {
      axis[static_cast<std::size_t>(3 - axes + i)] = x.strides[i + 2];
    }
  }
  std::int64_t batch, channel;
  std::array<std::int64_t, 3> axis = {0, 0, 0};
};

}  // namespace hearth::cpu
